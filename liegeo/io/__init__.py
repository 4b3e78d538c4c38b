"""Files: models of other programs."""
