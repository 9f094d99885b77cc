"""Records: what has happened, for usage, metrics and the history."""
