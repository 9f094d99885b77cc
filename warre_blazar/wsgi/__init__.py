"""Blazar's API as this package serves it: Blazar's application, with checks of every request.

The import of this module must not fail (see ``blazar_extension``). So the installed versions are
checked by the packages that the modules here import.
"""
