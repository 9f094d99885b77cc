"""Sizes of memory and disks as users type them: 64G, 512M, 2T, all by powers of 1024."""

import argparse
import re

_MIB = {"M": 1, "G": 1024, "T": 1024**2}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s?(?:([MGT])(?:i?B)?)?", re.IGNORECASE | re.ASCII)


def memory_mb(text: str) -> int:
    """MiB, of a number of them or a size with a unit."""
    return _whole(text, "M", bare=True)


def memory(text: str) -> int:
    """MiB, of a size with a unit."""
    return _whole(text, "M", bare=False)


def disk_gb(text: str) -> int:
    """GiB, of a number of them or a size with a unit."""
    return _whole(text, "G", bare=True)


def disk(text: str) -> int:
    """GiB, of a size with a unit."""
    return _whole(text, "G", bare=False)


def _whole(text: str, unit: str, *, bare: bool) -> int:
    """A size in whole units of one kind.

    :param bare: whether a number alone is so many of them.
    """
    found = _SIZE.fullmatch(text.strip())
    if not found or not (found[2] or bare):
        examples = "64G or 512M" if unit == "M" else "30G or 2T"
        raise argparse.ArgumentTypeError(f"{text!r} isn't a size; write {examples}")
    size = float(found[1]) * _MIB[(found[2] or unit).upper()] / _MIB[unit]
    if size != int(size):
        raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number of {unit}iB")
    return int(size)
