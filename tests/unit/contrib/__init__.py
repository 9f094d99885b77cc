"""Tests of the files in ``contrib/`` that need no deployment tool."""
