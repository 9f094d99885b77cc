"""Resolves the devices of flavors: finds the request groups by which the devices are counted.

Nova resolves an alias or a device profile when a server boots. So a change of the configuration
also changes which devices the servers of older reservations take. For this reason, the recount also
changes the shapes of reservations that hold hosts.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy.orm import Session

from warre_blazar import texts
from warre_blazar.db import flavors, generations, session
from warre_blazar.db.hosts import reservable_hosts
from warre_blazar.domain.flavors import devices
from warre_blazar.domain.flavors.devices import ALIAS_KEY, PROFILE_KEY, Rules
from warre_blazar.domain.flavors.flavor import Flavor, Shape
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
        known = reservable_hosts.known_capabilities(
            db, {devices.capability(name) for name in names}
        )
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


#: The extra specs that are about devices, in a form that can be a key of a dict.
_Named = frozenset[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class RecountFinding:
    """A flavor whose devices aren't counted, or are counted otherwise than configured now."""

    flavor: Flavor
    #: The groups of its devices with the present configuration; None if its devices, or those of
    #: a reservation of it, can't be resolved.
    groups: tuple[Group, ...] | None
    #: The number of reservations that hold hosts and whose devices must be counted anew.
    reservations: int = 0
    #: Why the devices can't be resolved; empty if they can. If they can't be resolved, the flavor
    #: and its reservations stay as they are.
    failure: str = ""


class _Resolutions:
    """What devices are resolved to. A name is resolved once only, to send Cyborg few requests."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._known: dict[_Named, tuple[Group, ...] | exceptions.WarreError] = {}

    def learn(self, extra_specs: Mapping[str, str]) -> None:
        """Resolve the devices that are named in extra specs. Call this outside of transactions."""
        key = _named(extra_specs)
        if key not in self._known:
            try:
                self._known[key] = resolve(extra_specs, self._rules)
            except exceptions.WarreError as error:
                self._known[key] = error

    def of(self, extra_specs: Mapping[str, str]) -> tuple[Group, ...] | None:
        """The groups of the devices. None if the devices couldn't be resolved."""
        found = self._known.get(_named(extra_specs))
        return found if isinstance(found, tuple) else None

    def failure(self, extra_specs: Mapping[str, str]) -> str:
        """Why the devices couldn't be resolved. Empty if they were resolved."""
        found = self._known.get(_named(extra_specs))
        return found.message if isinstance(found, exceptions.WarreError) else ""


def _named(extra_specs: Mapping[str, str]) -> _Named:
    return frozenset(devices.named(extra_specs).items())


def find_changed(rules: Rules, ref: str | None = None) -> list[RecountFinding]:
    """The flavors whose devices aren't counted, or are still counted by an older configuration.

    :param ref: the id or the name of the only flavor to look at. None: all flavors.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    findings, _ = _find(rules, ref)
    return findings


def recount(rules: Rules, ref: str | None = None) -> list[RecountFinding]:
    """Resolve the devices of flavors and of their reservations anew, and write the results.

    Each flavor is written in one transaction with its reservations. A booking that is made at the
    same moment is tried again, and reads the new values.

    :param ref: the same as for ``find``.
    :returns: the findings as they were before the change.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    findings, resolutions = _find(rules, ref)
    for finding in findings:
        _write(finding.flavor.id, resolutions)
    return findings


def _find(rules: Rules, ref: str | None) -> tuple[list[RecountFinding], _Resolutions]:
    with session.reader() as db:
        looked_at = [flavors.require(db, ref)] if ref else flavors.every(db)
        shapes = {f.id: _shapes(db, f.id) for f in looked_at}
    resolutions = _Resolutions(rules)
    findings = []
    for flavor in looked_at:
        for shape in (flavor.shape, *shapes[flavor.id].values()):
            resolutions.learn(shape.extra_specs)
        finding = _finding(flavor, shapes[flavor.id], resolutions)
        if finding:
            findings.append(finding)
    return findings, resolutions


def _shapes(db: Session, flavor_id: str) -> dict[str, Shape]:
    return {text: Shape.from_json(text) for text in flavors.hosts_of_shapes(db, flavor_id)}


def _finding(
    flavor: Flavor, shapes: Mapping[str, Shape], resolutions: _Resolutions
) -> RecountFinding | None:
    failures = [
        failure
        for shape in (flavor.shape, *shapes.values())
        if (failure := resolutions.failure(shape.extra_specs))
    ]
    if failures:
        return RecountFinding(flavor, None, failure=failures[0])
    groups = resolutions.of(flavor.shape.extra_specs)
    changed = _changed(shapes, resolutions)
    if groups == flavor.shape.device_groups and not changed:
        return None
    with session.reader() as db:
        reservations = sum(flavors.count_of_shape(db, flavor.id, text) for text in changed)
    return RecountFinding(flavor, groups, reservations)


def _changed(shapes: Mapping[str, Shape], resolutions: _Resolutions) -> dict[str, Shape]:
    """The shapes whose devices must be counted anew.

    :returns: the new shapes, by the JSON texts of the old shapes.
    """
    changed = {}
    for text, shape in shapes.items():
        groups = resolutions.of(shape.extra_specs)
        if groups is not None and groups != shape.device_groups:
            changed[text] = dataclasses.replace(shape, device_groups=groups)
    return changed


@session.retried
def _write(flavor_id: str, resolutions: _Resolutions) -> None:
    with session.writer() as db:
        present = flavors.find(db, flavor_id)
        if not present:
            return  # The flavor has been deleted meanwhile.
        flavor, shapes = present[0], _shapes(db, flavor_id)
        groups = resolutions.of(flavor.shape.extra_specs)
        changed = _changed(shapes, resolutions)
        if groups is None or (groups == flavor.shape.device_groups and not changed):
            return
        generations.increase_flavor(db, flavor, {"device_groups": devices.to_column(groups)})
        for text, shape in changed.items():
            flavors.replace_shape(db, flavor_id, text, shape)
        if changed:
            # If another flavor is being booked on one of the hosts, that booking reads again what
            # is held there. A host that can't be booked now may be bookable again by then.
            for host_id in sorted(flavors.hosts_of_flavor(db, flavor_id)):
                generations.outdate_host(db, host_id)


def failures(findings: Iterable[RecountFinding]) -> list[RecountFinding]:
    """The findings whose devices can't be resolved."""
    return [finding for finding in findings if finding.failure]
