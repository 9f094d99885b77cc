"""Resolves flavors' devices anew after an operator has changed what the devices' names stand for.

Nova resolves an alias or a device profile when a server boots. So a change of the configuration
also changes which devices the servers of older reservations take. For this reason, the recount also
changes the shapes of reservations that hold hosts.
"""

import dataclasses
from collections.abc import Iterable, Mapping

from sqlalchemy.orm import Session

from warre_blazar import exceptions
from warre_blazar.db import booked_shapes, flavors, hosts, session
from warre_blazar.domain import devices
from warre_blazar.domain.devices import Resolved, Rules
from warre_blazar.domain.flavor import Flavor, Shape
from warre_blazar.services.offering import devices as device_resolution

#: The extra specs that are about devices, in a form that can be a key of a dict.
_Named = frozenset[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Finding:
    """A flavor whose devices aren't counted, or are still counted by an older configuration."""

    flavor: Flavor
    #: What its devices are resolved to now; None if they can't be resolved.
    resolved: Resolved | None
    #: The number of reservations that hold hosts and whose devices must be counted anew.
    reservations: int = 0
    #: Why the devices can't be resolved; empty if they can. If they can't be resolved, the flavor
    #: and its reservations stay as they are.
    failure: str = ""

    @property
    def uncounted(self) -> tuple[devices.Uncounted, ...]:
        """The devices that aren't counted with the present configuration."""
        return self.resolved.uncounted if self.resolved else self.flavor.uncounted_devices


class _Resolutions:
    """What devices are resolved to. A name is resolved once only, to send Cyborg few requests."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._known: dict[_Named, Resolved | exceptions.WarreError] = {}

    def learn(self, extra_specs: Mapping[str, str]) -> None:
        """Resolve the devices that are named in extra specs. Call this outside of transactions."""
        key = _named(extra_specs)
        if key not in self._known:
            try:
                found = device_resolution.resolve(extra_specs, self._rules)
                self._known[key] = found or Resolved()
            except exceptions.WarreError as error:
                self._known[key] = error

    def of(self, extra_specs: Mapping[str, str]) -> Resolved | None:
        """What the devices were resolved to. None if they couldn't be resolved."""
        found = self._known.get(_named(extra_specs))
        return found if isinstance(found, Resolved) else None

    def failure(self, extra_specs: Mapping[str, str]) -> str:
        """Why the devices couldn't be resolved. Empty if they were resolved."""
        found = self._known.get(_named(extra_specs))
        return found.message if isinstance(found, exceptions.WarreError) else ""


def _named(extra_specs: Mapping[str, str]) -> _Named:
    return frozenset(devices.named(extra_specs).items())


def find(rules: Rules, ref: str | None = None) -> list[Finding]:
    """The flavors whose devices aren't counted, or are still counted by an older configuration.

    :param ref: the id or the name of the only flavor to look at. None: all flavors.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    findings, _ = _find(rules, ref)
    return findings


def recount(rules: Rules, ref: str | None = None) -> list[Finding]:
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


def _find(rules: Rules, ref: str | None) -> tuple[list[Finding], _Resolutions]:
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
    return {text: Shape.from_json(text) for text in booked_shapes.holding_hosts(db, flavor_id)}


def _finding(
    flavor: Flavor, shapes: Mapping[str, Shape], resolutions: _Resolutions
) -> Finding | None:
    failures = [
        failure
        for shape in (flavor.shape, *shapes.values())
        if (failure := resolutions.failure(shape.extra_specs))
    ]
    if failures:
        return Finding(flavor, None, failure=failures[0])
    resolved = resolutions.of(flavor.shape.extra_specs) or Resolved()
    changed = _changed(shapes, resolutions)
    if resolved == _present(flavor) and not changed and not resolved.uncounted:
        return None
    with session.reader() as db:
        reservations = sum(booked_shapes.count(db, flavor.id, text) for text in changed)
    return Finding(flavor, resolved, reservations)


def _present(flavor: Flavor) -> Resolved:
    return Resolved(flavor.shape.device_groups, flavor.uncounted_devices)


def _changed(shapes: Mapping[str, Shape], resolutions: _Resolutions) -> dict[str, Shape]:
    """The shapes whose devices must be counted anew.

    :returns: the new shapes, by the JSON texts of the old shapes.
    """
    changed = {}
    for text, shape in shapes.items():
        resolved = resolutions.of(shape.extra_specs)
        if resolved is not None and resolved.groups != shape.device_groups:
            changed[text] = dataclasses.replace(shape, device_groups=resolved.groups)
    return changed


@session.retried
def _write(flavor_id: str, resolutions: _Resolutions) -> None:
    with session.writer() as db:
        present = flavors.find(db, flavor_id)
        if not present:
            return  # The flavor has been deleted meanwhile.
        flavor, shapes = present[0], _shapes(db, flavor_id)
        resolved = resolutions.of(flavor.shape.extra_specs)
        changed = _changed(shapes, resolutions)
        if resolved is None or (resolved == _present(flavor) and not changed):
            return
        flavors.update(db, flavor, {"device_groups": _column(resolved)})
        for text, shape in changed.items():
            booked_shapes.replace(db, flavor_id, text, shape)
        if changed:
            # If another flavor is being booked on one of the hosts, that booking reads again what
            # is held there. A host that can't be booked now may be bookable again by then.
            for host_id in sorted(booked_shapes.host_ids(db, flavor_id)):
                hosts.outdate(db, host_id)


def _column(resolved: Resolved) -> dict[str, object] | None:
    return None if resolved == Resolved() else resolved.to_dict()


def failures(findings: Iterable[Finding]) -> list[Finding]:
    """The findings whose devices can't be resolved."""
    return [finding for finding in findings if finding.failure]
