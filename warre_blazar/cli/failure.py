"""The errors that end a command with status 1 or 2."""

from blazarclient.exception import BlazarClientException

from warre_blazar.client.types import Document


class Failure(BlazarClientException):
    """Ends a command. The text tells the user what is wrong and what to do."""


class WrongArguments(Failure):
    """What the user has typed isn't understood, or means nothing that could be done.

    The command ends with status 2, as if its parser had refused the arguments.
    """


class WrongOptions(WrongArguments):
    """The options or arguments of a command don't fit together, so its help is named too."""


class RefusedDryRun(Failure):
    """A dry run has found that the API would refuse the request.

    :ivar document: what the API foresees, for formats that programs read.
    """

    def __init__(self, message: str, document: Document) -> None:
        super().__init__(message)
        self.document = document

    @property
    def codes(self) -> list[str]:
        """The codes of the rules that refuse the request, or the occurrences of a series."""
        refused = self.document.get("refusals") or self.document.get("refused") or []
        return [each["code"] for each in refused]
