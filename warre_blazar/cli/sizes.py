"""Parses sizes of memory and disks such as 64G, 512M or 2T. Units are powers of 1024."""

import argparse
import re

_MIB = {"M": 1, "G": 1024, "T": 1024**2}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s?(?:([MGT])(?:i?B)?)?", re.IGNORECASE | re.ASCII)


def memory_mb(text: str) -> int:
    """Parse a number of MiB, or a size with a unit, and return it in MiB."""
    return _whole(text, "M", bare=True)


def memory(text: str) -> int:
    """Parse a size with a unit, and return it in MiB."""
    return _whole(text, "M", bare=False)


def disk_gb(text: str) -> int:
    """Parse a number of GiB, or a size with a unit, and return it in GiB."""
    return _whole(text, "G", bare=True)


def disk(text: str) -> int:
    """Parse a size with a unit, and return it in GiB."""
    return _whole(text, "G", bare=False)


def _whole(text: str, unit: str, *, bare: bool) -> int:
    """Return a size as a whole number of MiB or GiB.

    :param unit: "M" for MiB, or "G" for GiB.
    :param bare: whether to accept a number without a unit. The unit of such a number is ``unit``.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match or not (match[2] or bare):
        examples = "64G or 512M" if unit == "M" else "30G or 2T"
        raise argparse.ArgumentTypeError(f"{text!r} isn't a size; write {examples}")
    size = float(match[1]) * _MIB[(match[2] or unit).upper()] / _MIB[unit]
    if size != int(size):
        raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number of {unit}iB")
    return int(size)
