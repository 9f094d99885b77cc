"""Words that depend on a number, for sentences."""


def slots(count: int) -> str:
    """Return "1 slot", "2 slots", and so on."""
    return f"{count} slot{'' if count == 1 else 's'}"
