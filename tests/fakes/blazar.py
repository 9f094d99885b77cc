"""A fake of Blazar's API that says only which program answers."""

from tests.fakes.service import Answer, Request, Service


class Blazar(Service):
    """An API that is served under the path ``/reservation`` and refuses requests without a token.

    ``served`` is the header of this package, or None if Blazar's own application is served.
    """

    routes = (("GET", "/reservation/", "versions"),)

    def __init__(self, served: str | None = None) -> None:
        super().__init__()
        self.served = served

    @property
    def endpoint(self) -> str:
        """The URL that the catalog has."""
        return f"{self.url}/reservation/v1"

    def versions(self, request: Request) -> Answer:
        assert "x-auth-token" not in request.headers
        headers = {"X-Warre-Blazar": self.served} if self.served else {}
        return Answer(401, {"error": "no token"}, headers)
