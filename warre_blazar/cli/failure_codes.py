"""The stable codes of failures, for programs that run commands."""

from warre_blazar.cli.failure import Failure, RefusedDryRun
from warre_blazar.client import errors


def code(failure: Failure) -> str:
    """Return the code with which the API has refused a request, or foresees to refuse it.

    :returns: "" if the command has failed for another reason.
    """
    error: BaseException | None = failure
    while error is not None:
        if isinstance(error, errors.ApiError):
            return error.code
        if isinstance(error, RefusedDryRun) and error.codes:
            return error.codes[0]
        error = error.__cause__ or error.__context__
    return ""
