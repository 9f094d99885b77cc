"""Compares leases with the trusts in Keystone."""

from collections.abc import Collection, Iterable, Iterator

from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.domain.audit.facts import TrustedLease

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
        yield Difference(DifferenceKind.TRUSTS_UNUSED, "trusts", text, frozenset(unused))


def compare_leases(leases: Iterable[TrustedLease], trusts: Collection[str]) -> Iterator[Difference]:
    """Find live leases of stock resource types whose trusts are gone.

    :param trusts: the ids of all trusts whose trustee is Blazar's service user.
    """
    for lease in leases:
        if lease.trust_id not in trusts:
            text = (
                f"Blazar's user has no trust {lease.trust_id} in Keystone, which lease {lease.id} "
                f"({lease.name}, {lease.status}) of user {lease.user_id} needs until its end at "
                f"{lease.end} UTC"
            )
            yield Difference(DifferenceKind.TRUST_GONE, lease.id, text)
