"""What ends a command with status 1."""

from blazarclient.exception import BlazarClientException


class Failure(BlazarClientException):
    """Its text is for the user, and says what to do."""
