"""What has happened: changes, history, refused requests, usage and metrics."""
