"""Controllers are scripts for other tools, which load them with modules of their own: nothing here to collect."""

collect_ignore_glob = ["controllers/*"]
