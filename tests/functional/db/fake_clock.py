"""A clock of the package's waiting, which a test moves."""


class FakeClock:
    """Stands for ``waiting.clock``. Time passes only while somebody waits, or if a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
