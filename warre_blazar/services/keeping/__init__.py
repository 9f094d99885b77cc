"""Keeping order: what operators check, repair, import and remove."""
