"""Sphinx configuration."""

project = "warre-blazar"
copyright = "warre-blazar developers"
extensions = ["cliff.sphinxext", "oslo_config.sphinxext", "oslo_policy.sphinxext"]
html_theme = "alabaster"
nitpicky = True
