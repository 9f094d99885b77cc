"""Resolves the devices of flavors: finds the request groups by which the devices are counted."""

from collections.abc import Callable, Mapping, Sequence

from warre_blazar import texts
from warre_blazar.db import session
from warre_blazar.db.hosts import host_capabilities
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.devices import ALIAS_KEY, PROFILE_KEY, Rules
from warre_blazar.domain.flavors.request_groups import Group
from warre_blazar.errors import exceptions
from warre_blazar.openstack import cyborg


def resolve(extra_specs: Mapping[str, str], rules: Rules) -> tuple[Group, ...]:
    """Resolve the devices that are named in extra specs.

    This may ask Cyborg and the database, so it must not be called inside a transaction.

    :returns: the request groups of the devices, at least one for each device that is named.
    :raises InvalidField: an extra spec can't be parsed.
    :raises DeviceNotCountable: the devices can't be counted.
    :raises ServiceUnavailable, ServiceRefused: Cyborg doesn't answer.
    """
    groups: list[Group] = []
    for key, value in devices.named(extra_specs).items():
        groups += _RESOLVERS[key](value, rules)
    if not devices.fits(groups):
        raise exceptions.InvalidField(
            "extra_specs", texts.extra_specs.FEWER_DEVICES(most=devices.MOST_DEVICES)
        )
    return tuple(groups)


def _of_aliases(text: str, rules: Rules) -> list[Group]:
    try:
        requests = devices.alias_requests(text)
    except texts.NotValid as error:
        raise exceptions.InvalidField(
            "extra_specs", texts.extra_specs.NOT_VALID(spec=error.expected)
        ) from error
    countable = rules.aliases if rules.in_placement else _capabilities({n for n, _ in requests})
    groups: list[Group] = []
    for name, number in requests:
        if name not in countable:
            raise exceptions.DeviceNotCountable(ALIAS_KEY, name, _unknown_alias(name, rules))
        groups += [countable[name]] * number
    return groups


def _capabilities(names: set[str]) -> dict[str, Group]:
    """By alias, the request group for one device. Aliases without a capability are left out."""
    with session.reader() as db:
        known = host_capabilities.known(db, {devices.capability(name) for name in names})
    return {
        name: devices.group_of_capability(name)
        for name in names
        if devices.capability(name) in known
    }


def _unknown_alias(name: str, rules: Rules) -> texts.Said:
    if rules.in_placement:
        return texts.extra_specs.NO_ALIAS(alias=name)
    return texts.extra_specs.NO_CAPABILITY(capability=devices.capability(name))


def _of_profile(name: str, _rules: Rules) -> Sequence[Group]:
    url = cyborg.endpoint()
    if url is None:
        raise exceptions.DeviceNotCountable(PROFILE_KEY, name, texts.extra_specs.NO_CYBORG())
    described = cyborg.device_profile(url, name)
    if described is None:
        raise exceptions.DeviceNotCountable(PROFILE_KEY, name, texts.extra_specs.NO_PROFILE())
    try:
        return devices.profile_groups(described)
    except texts.NotValid as error:
        raise exceptions.DeviceNotCountable(
            PROFILE_KEY, name, texts.extra_specs.OTHER_PROFILE(profile=error.expected)
        ) from error


_RESOLVERS: dict[str, Callable[[str, Rules], Sequence[Group]]] = {
    ALIAS_KEY: _of_aliases,
    PROFILE_KEY: _of_profile,
}
