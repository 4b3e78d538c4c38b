"""Controllers and slaves are scripts for other tools, which load them with modules of their own: nothing to collect."""

collect_ignore_glob = ["controllers/*", "tiny.py"]
