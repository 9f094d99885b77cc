"""Masks of an instance's CPUs, as Nova's extra specs write them: ``1-4,^3`` or ``^0``."""

import re

from warre_blazar import texts

#: A number or a range. A ``^`` in front takes it out of the mask.
_PART = re.compile(
    r"\s*(?P<without>\^?)\s*(?P<first>[0-9]{1,9})\s*(-\s*(?P<last>[0-9]{1,9})\s*)?\Z"
)


def count(mask: str, cpus: int, key: str = "") -> int:
    """The number of the CPUs that a mask stands for. An instance's first CPU has the number 0.

    A mask that begins with ``^`` stands for all of the instance's CPUs except those that it names.
    No set of all CPUs is made, because a flavor may have a billion of them.

    :param cpus: how many CPUs the instance has.
    :param key: the key of the extra spec, for the error.
    :raises NotValid: the mask can't be read, or names a CPU that the instance doesn't have.
    """
    within: set[int] = set()
    without: set[int] = set()
    for text in filter(str.strip, mask.split(",")):
        part = _PART.match(text)
        first = int(part["first"]) if part else 0
        last = int(part["last"] or first) if part else 0
        # Because of the bound 9999, a mistyped number can't make a set of a billion numbers.
        if part is None or first > last or last > 9999:
            raise texts.NotValid(texts.extra_specs.CPU_MASK(key=key))
        (without if part["without"] else within).update(range(first, last + 1))
    named = within - without
    if any(cpu >= cpus for cpu in named):
        raise texts.NotValid(texts.extra_specs.CPUS_BELOW(key=key, cpus=cpus))
    if mask.strip().startswith("^"):
        return cpus - sum(cpu < cpus for cpu in without)
    return len(named)
