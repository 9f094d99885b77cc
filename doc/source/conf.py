"""Sphinx configuration."""

project = "warre-blazar"
copyright = "warre-blazar developers"
extensions = ["oslo_config.sphinxext", "oslo_policy.sphinxext"]
html_theme = "alabaster"
nitpicky = True
