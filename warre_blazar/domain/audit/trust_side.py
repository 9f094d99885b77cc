"""Compares leases with the trusts in Keystone."""

from collections.abc import Collection, Iterator

from warre_blazar.domain.audit.differences import Difference, Kind

_MOST = 5


def compare_trusts(used: Collection[str], trusts: Collection[str]) -> Iterator[Difference]:
    """Find trusts that no lease and no host uses.

    :param used: the ids of the trusts that are in use.
    :param trusts: the ids of all trusts whose trustee is Blazar's service user.
    """
    unused = set(trusts) - set(used)
    if unused:
        shown = sorted(unused)[:_MOST]
        more = f" and {len(unused) - len(shown)} more" if len(unused) > len(shown) else ""
        text = f"No lease and no host uses {len(unused)} trusts: {', '.join(shown)}{more}"
        yield Difference(Kind.TRUSTS_UNUSED, "trusts", text, frozenset(unused))
