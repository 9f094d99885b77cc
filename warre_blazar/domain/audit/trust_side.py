"""Compares leases with the trusts in Keystone."""

from collections.abc import Collection, Iterable, Iterator

from warre_blazar.domain.audit.differences import Difference, Kind
from warre_blazar.domain.audit.facts import TrustUse

_MOST = 5


def compare_trusts(uses: Iterable[TrustUse], trusts: Collection[str]) -> Iterator[Difference]:
    """Find leases whose trust is gone, and trusts that no lease and no host uses.

    :param uses: all uses of trusts by leases and hosts.
    :param trusts: the ids of all trusts whose trustee is Blazar's service user.
    """
    unused = set(trusts)
    for use in uses:
        unused.discard(use.trust_id)
        if use.lease_id is not None and use.trust_id not in trusts:
            text = f"Lease {use.lease_id} has trust {use.trust_id}, which Keystone doesn't have"
            yield Difference(Kind.TRUST_GONE, use.lease_id, text, use.trust_id)
    if unused:
        shown = sorted(unused)[:_MOST]
        more = f" and {len(unused) - len(shown)} more" if len(unused) > len(shown) else ""
        text = f"No lease and no host uses {len(unused)} trusts: {', '.join(shown)}{more}"
        yield Difference(Kind.TRUSTS_UNUSED, "trusts", text, frozenset(unused))
