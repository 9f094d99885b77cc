"""Words that depend on a number, for sentences."""


def counted(count: int, noun: str) -> str:
    """Return "1 time", "2 times", and so on."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def slots(count: int) -> str:
    """Return "1 slot", "2 slots", and so on."""
    return counted(count, "slot")
