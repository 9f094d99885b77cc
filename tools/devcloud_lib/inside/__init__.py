"""Scripts that need OpenStack's libraries: run with the virtual environment's Python."""
