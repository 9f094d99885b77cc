"""The error that ends a command with status 1."""

from blazarclient.exception import BlazarClientException


class Failure(BlazarClientException):
    """Ends a command. The text tells the user what is wrong and what to do."""


class WrongOptions(Failure):
    """The options or arguments of a command don't fit together, so its help is named too."""
