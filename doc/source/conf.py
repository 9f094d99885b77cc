"""Sphinx configuration."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "_ext"))

project = "warre-blazar"
copyright = "warre-blazar developers"
extensions = [
    "cliff.sphinxext",
    "fault_matrix",
    "file_tables",
    "measured",
    "oslo_config.sphinxext",
    "oslo_policy.sphinxext",
    "state_tables",
    "text_tables",
    "times_table",
]
html_theme = "alabaster"
nitpicky = True
