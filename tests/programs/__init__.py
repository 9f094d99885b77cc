"""Tests of Heat's resource and of Ansible's modules, in an environment of these programs."""
