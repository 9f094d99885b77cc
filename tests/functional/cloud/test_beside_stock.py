"""Bookings beside Blazar's own virtual:instance leases on the same host.

Requests one after the other are never oversold. Requests at the same time can be, because the
stock plugin reads and writes without a lock, and doesn't see leases that are still being created.
"""

import collections
from collections.abc import Callable

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import at_once

#: A fifth of a host's bookable memory. The stock plugin doesn't know how much memory a host
#: reserves for itself, which is less than that.
SHARE_MB, SHARES = world.HOST_MEMORY_MB // 5, 5
HOST = "cmp3"
#: How many reservations of each kind are requested at once. They don't all fit.
EACH = 6


def test_stock_gets_only_what_our_bookings_leave(
    alpha: Person, beta: Person, offer: Offer, lease: Callable
) -> None:
    flavor = offer(slots=100, memory_mb=SHARE_MB, properties=world.on_host(HOST))
    period = world.far()
    world.booked(alpha, flavor, period, SHARES - 1)
    stock = world.instance(HOST, SHARE_MB)
    fits = lease(beta, world.lease_body(period, stock))
    assert fits.status_code == 201, fits.text
    refused = lease(beta, world.lease_body(period, stock))
    assert "Not enough hosts" in refused.json()["error_message"]


def test_a_host_full_of_ours_refuses_stock(
    alpha: Person, beta: Person, offer: Offer, lease: Callable
) -> None:
    flavor = offer(slots=100, memory_mb=SHARE_MB, properties=world.on_host(HOST))
    period = world.far()
    world.booked(alpha, flavor, period, SHARES)
    refused = lease(beta, world.lease_body(period, world.instance(HOST, SHARE_MB)))
    assert "Not enough hosts" in refused.json()["error_message"]


def test_our_bookings_get_only_what_stock_leaves(
    alpha: Person, beta: Person, offer: Offer, lease: Callable
) -> None:
    flavor = offer(slots=100, memory_mb=SHARE_MB, properties=world.on_host(HOST))
    period = world.far()
    stock = lease(beta, world.lease_body(period, world.instance(HOST, SHARE_MB, SHARES - 1)))
    assert stock.status_code == 201, stock.text
    refused = world.book(alpha, flavor, period, 2)
    assert refused.json()["code"] == "hosts_exhausted"
    world.booked(alpha, flavor, period, 1)
    assert world.book(alpha, flavor, period, 1).json()["code"] == "hosts_exhausted"


def test_stock_and_our_bookings_at_once_never_oversell(
    alpha: Person, beta: Person, offer: Offer, lease: Callable, records: Records
) -> None:
    flavor = offer(slots=100, memory_mb=SHARE_MB, properties=world.on_host(HOST))
    period = world.far()
    body = world.lease_body
    ours = [lambda: world.book(alpha, flavor, period)] * EACH
    stocks = [
        lambda: lease(beta, body(period, world.instance(HOST, SHARE_MB))) for _ in range(EACH)
    ]
    mixed = [job for pair in zip(ours, stocks, strict=True) for job in pair]
    answers = at_once(mixed)
    our_codes = collections.Counter((a.status_code, a.json().get("code")) for a in answers[::2])
    stock_codes = collections.Counter(a.status_code for a in answers[1::2])
    held, stock_held = our_codes[(200, None)], stock_codes[201]
    print(
        f"\nroom for {SHARES}: ours hold {held}, stock holds {stock_held}, "
        f"oversold by {max(held + stock_held - SHARES, 0)} (ours {dict(our_codes)}, "
        f"stock {dict(stock_codes)})"
    )
    # Whatever stock does, our own bookings fit on the host, and are refused only if it is full.
    assert held <= SHARES
    assert set(our_codes) <= {(200, None), (400, "hosts_exhausted")}
    assert len(records.rows("warre_reservations", flavor_id=flavor["id"])) == held
    # Once everything is written, our bookings take no more than stock has left.
    if held + stock_held >= SHARES:
        assert world.book(alpha, flavor, period).json()["code"] == "hosts_exhausted"
