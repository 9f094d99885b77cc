"""Tests of Heat's resource, of Ansible's modules and of python-chi, in their own environment."""
