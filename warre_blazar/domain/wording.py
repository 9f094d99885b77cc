"""Words that depend on a number, for sentences."""


def counted(number: int, noun: str) -> str:
    """A number with a noun in singular or plural, such as "1 slot" or "2 slots".

    :param noun: the noun in singular. Its plural ends with s.
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"
