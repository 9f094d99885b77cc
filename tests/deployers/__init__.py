"""Tests of the files in ``contrib/``. Deployers' own code renders these files."""
