"""Scripts that need OpenStack's libraries. They run with the virtual environment's Python."""
