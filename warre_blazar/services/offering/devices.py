"""Resolves the devices of flavors: finds the request groups by which the devices are counted."""

from collections.abc import Mapping

from warre_blazar import exceptions
from warre_blazar.clients import cyborg
from warre_blazar.db import host_capabilities, session
from warre_blazar.domain import devices
from warre_blazar.domain.devices import ALIAS_KEY, PROFILE_KEY, Resolved, Rules, Uncounted
from warre_blazar.domain.request_groups import Group


def resolve(extra_specs: Mapping[str, str], rules: Rules) -> Resolved | None:
    """Resolve the devices that are named in extra specs.

    This may ask Cyborg and the database, so it must not be called inside a transaction.

    :returns: None if the extra specs name no devices.
    :raises InvalidField: an extra spec can't be parsed.
    :raises DeviceNotCountable: the devices can't be counted, and the rules don't allow uncounted
        devices.
    :raises ServiceUnavailable, ServiceRefused: Cyborg doesn't answer.
    """
    named = devices.named(extra_specs)
    if not named:
        return None
    groups: list[Group] = []
    uncounted: list[Uncounted] = []
    for key, value in named.items():
        resolved = _RESOLVERS[key](value, rules)
        groups += resolved.groups
        uncounted += resolved.uncounted
    if not devices.fits(groups):
        raise exceptions.InvalidField(
            "extra_specs", f"expected at most {devices.MOST_DEVICES} devices, with short traits"
        )
    if uncounted and not rules.allow_uncounted:
        first = uncounted[0]
        raise exceptions.DeviceNotCountable(first.key, first.name, first.reason)
    return Resolved(tuple(groups), tuple(uncounted))


def _of_aliases(text: str, rules: Rules) -> Resolved:
    try:
        requests = devices.alias_requests(text)
    except ValueError as error:
        raise exceptions.InvalidField("extra_specs", str(error)) from error
    countable = rules.aliases if rules.in_placement else _capabilities({n for n, _ in requests})
    groups: list[Group] = []
    uncounted: dict[str, Uncounted] = {}
    for name, number in requests:
        if name in countable:
            groups += [countable[name]] * number
        else:
            uncounted[name] = Uncounted(ALIAS_KEY, name, _unknown_alias(name, rules))
    return Resolved(tuple(groups), tuple(uncounted.values()))


def _capabilities(names: set[str]) -> dict[str, Group]:
    """By alias, the request group for one device. Aliases without a capability are left out."""
    with session.reader() as db:
        known = host_capabilities.known(db, {devices.capability(name) for name in names})
    return {
        name: devices.group_of_capability(name)
        for name in names
        if devices.capability(name) in known
    }


def _unknown_alias(name: str, rules: Rules) -> str:
    if rules.in_placement:
        return (
            f"[warre] pci_alias has no line for {name}; copy the line of [pci] alias in nova.conf"
        )
    return (
        f"no host has the capability {devices.capability(name)}; set it to the number of such "
        "devices on each host that has some, or set [warre] pci_in_placement if Nova counts them "
        "in Placement"
    )


def _of_profile(name: str, _rules: Rules) -> Resolved:
    url = cyborg.endpoint()
    if url is None:
        text = "Keystone's catalog has no Cyborg, without which Nova can't boot such servers"
        return _uncounted_profile(name, text)
    described = cyborg.device_profile(url, name)
    if described is None:
        return _uncounted_profile(name, "Cyborg has no such device profile; create it there")
    try:
        return Resolved(devices.profile_groups(described))
    except ValueError as error:
        return _uncounted_profile(name, f"Cyborg's device profile isn't one of Nova's: {error}")


def _uncounted_profile(name: str, reason: str) -> Resolved:
    return Resolved(uncounted=(Uncounted(PROFILE_KEY, name, reason),))


_RESOLVERS = {ALIAS_KEY: _of_aliases, PROFILE_KEY: _of_profile}
