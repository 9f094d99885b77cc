"""A real OpenStack on one machine for developing and testing warre-blazar.

This package uses the standard library only, because it runs before anything is installed. Scripts
that need OpenStack's libraries are in `inside/`. They are run with the Python of the virtual
environment that this package makes.
"""
