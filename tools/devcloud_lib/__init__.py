"""A real OpenStack on one machine for developing and testing warre-blazar.

Standard library only: it runs before anything is installed. What needs OpenStack's libraries
lives in `inside/` and is run with the Python of the virtual environment that this makes.
"""
