"""``warre-blazar-manage host refresh``: reads what hosts have in Placement and Nova again."""

import functools
import json
from collections.abc import Iterator
from typing import Any

from blazar.notification import notifier

from warre_blazar.cmd import setup_errors
from warre_blazar.db import session
from warre_blazar.db.hosts import allocations
from warre_blazar.domain.audit.overselling import Overbooked
from warre_blazar.domain.hosts.provider_trees import TreeDifference
from warre_blazar.domain.wording import counted
from warre_blazar.plugins import notifications
from warre_blazar.services.hosts import host_refresh, unassigned
from warre_blazar.services.hosts.host_refresh import Refresh, Refreshed
from warre_blazar.site_rules import conditions

#: The exit statuses. 0: everything was read, and no host is overbooked. 1: everything was read, but
#: a host has less than is booked on it. 2: something couldn't be read.
WELL, OVERBOOKED, BLIND = 0, 1, 2


_fail = functools.partial(setup_errors.fail, BLIND)


def add_parser(actions: Any) -> None:
    """Add the action and its arguments."""
    parser = actions.add_parser(
        "refresh",
        help="Read the resource providers of hosts from Placement, and their zones and aggregates "
        "from Nova, and print what has changed. Exit status 0: everything was read; 1: everything "
        "was read, but a host that has changed now has less than is booked on it; 2: a host, the "
        "zones, the aggregates or the database couldn't be read.",
    )
    parser.add_argument(
        "host", nargs="?", help="id in Blazar or hypervisor hostname; default: all hosts"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(command: Any) -> int:
    """Run the action.

    :returns: the exit status.
    """
    try:
        ids = _ids(command.host)
        if ids is not None and not ids:
            return _fail(f"Blazar has no host {command.host}; see openstack reservation host list")
        _open_notifications()
        result = host_refresh.refresh(ids, notifications.tell_overbooked)
        unassigned.assign(conditions.cleaning(), conditions.device_rules_of_stock())
    except setup_errors.DATABASE as error:
        return _fail(setup_errors.database(error))
    (_print_json if command.json else _print)(result)
    if result.zones_failure or any(host.failure for host in result.hosts):
        return BLIND
    return OVERBOOKED if any(host.overbooked for host in result.hosts) else WELL


def _ids(ref: str | None) -> frozenset[str] | None:
    if ref is None:
        return None
    with session.reader() as db:
        return allocations.find_ids(db, ref)


def _open_notifications() -> None:
    """Make Blazar's notifier ready to send. The services do this when they start.

    The command tries only once to send a message, so that it doesn't wait for a message bus.
    """
    if notifier.NOTIFIER is None:
        notifier.init()
        sender: Any = notifier.NOTIFIER
        notifier.NOTIFIER = sender.prepare(retry=0)


def _print(result: Refresh) -> None:
    for host in result.hosts:
        for line in _lines(host):
            print(line)
    if result.zones_failure:
        what = "Zones and aggregates couldn't be read, so what is stored of them stays"
        print(f"{what}: {result.zones_failure}")
    changed = sum(1 for host in result.hosts if host.difference)
    failed = sum(1 for host in result.hosts if host.failure)
    print(f"{counted(len(result.hosts), 'host')}: {changed} changed, {failed} couldn't be read")


def _lines(host: Refreshed) -> Iterator[str]:
    if host.failure:
        yield f"{host.name} couldn't be read, so its stored data stays: {host.failure}"
    if host.difference:
        yield f"{host.name} has changed:"
        lines = list(_difference_lines(host.difference)) or ["only ids or unit sizes of providers"]
        yield from (f"    {line}" for line in lines)
    for each in host.overbooked:
        yield f"    OVERBOOKED: {each.text()}"


def _difference_lines(difference: TreeDifference) -> Iterator[str]:
    for cls, (before, after) in difference.totals.items():
        yield f"{cls}: {before} -> {after}"
    if difference.zone:
        yield f"zone: {difference.zone[0]} -> {difference.zone[1]}"
    lists = {
        "new traits": sorted(difference.traits_gained),
        "traits gone": sorted(difference.traits_lost),
        "new providers": difference.providers_new,
        "providers gone": difference.providers_gone,
        "new metadata of aggregates": sorted(difference.metadata_gained),
        "metadata of aggregates gone": sorted(difference.metadata_lost),
    }
    for heading, names in lists.items():
        if names:
            yield f"{heading}: {', '.join(names)}"


def _print_json(result: Refresh) -> None:
    document = {
        "hosts": [_document(host) for host in result.hosts],
        "zones_failure": result.zones_failure or None,
    }
    print(json.dumps(document, indent=2))


def _document(host: Refreshed) -> dict[str, Any]:
    return {
        "id": host.host_id,
        "name": host.name,
        "failure": host.failure or None,
        "difference": _difference_document(host.difference) if host.difference else None,
        "overbooked": [_overbooked_document(each) for each in host.overbooked],
    }


def _difference_document(difference: TreeDifference) -> dict[str, Any]:
    zone = difference.zone
    return {
        "totals": {
            cls: {"before": before, "after": after}
            for cls, (before, after) in difference.totals.items()
        },
        "traits_gained": sorted(difference.traits_gained),
        "traits_lost": sorted(difference.traits_lost),
        "zone": {"before": zone[0], "after": zone[1]} if zone else None,
        "providers_new": list(difference.providers_new),
        "providers_gone": list(difference.providers_gone),
        "metadata_gained": sorted(difference.metadata_gained),
        "metadata_lost": sorted(difference.metadata_lost),
    }


def _overbooked_document(each: Overbooked) -> dict[str, Any]:
    return notifications.overbooked_document(each)
