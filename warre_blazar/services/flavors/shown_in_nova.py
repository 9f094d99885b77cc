"""Shows flavors in Nova, for programs whose users choose among what Nova lists.

The Nova flavor has the id, the name and the sizes of the flavor, so a program that books it names
the flavor itself. It asks for a trait that no host has. So no server boots on it outside of a
reservation.

The tables have a digest of the Nova flavor as it was made last. So Nova is asked nothing as long as
a flavor stays as it is.
"""

import hashlib
import json

from oslo_log import log as logging

from warre_blazar.db import flavors, session
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.running.wanted import NovaFlavor
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova, placement

LOG = logging.getLogger(__name__)

#: No host has this trait.
TRAIT = "CUSTOM_BOOTS_IN_RESERVATIONS_ONLY"
#: In place of a digest: somebody is changing what Nova has.
_CHANGING = ""


def look() -> None:
    """Let Nova have what it should show. What fails is tried again by the next call."""
    with session.reader() as db:
        found = flavors.shown_in_nova(db)
    for flavor, projects, noted in found:
        wanted = _wanted(flavor, projects)
        digest = None if wanted is None else _digest(wanted)
        if digest == noted:
            continue
        try:
            _change(flavor.id, noted, wanted, digest)
        except session.LostRace:
            LOG.info("Another manager changes how Nova shows flavor %s", flavor.id)
        except exceptions.WarreError as error:
            LOG.warning(
                "Nova doesn't show flavor %s (%s) yet. Perhaps another one has its name: %s",
                flavor.name,
                flavor.id,
                error,
            )


def _wanted(flavor: Flavor, projects: frozenset[str]) -> NovaFlavor | None:
    """The Nova flavor that shows a flavor. None: there should be none."""
    if not (flavor.show_in_nova and flavor.active):
        return None
    shape = flavor.shape
    return NovaFlavor(
        id=flavor.id,
        name=flavor.name,
        vcpus=shape.vcpu,
        ram=shape.memory_mb,
        disk=shape.disk_gb,
        ephemeral=shape.ephemeral_gb,
        is_public=flavor.is_public,
        extra_specs={**shape.extra_specs, f"trait:{TRAIT}": "required"},
        projects=frozenset() if flavor.is_public else projects,
    )


def _digest(wanted: NovaFlavor) -> str:
    values = {**vars(wanted), "projects": sorted(wanted.projects)}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _change(
    flavor_id: str, noted: str | None, wanted: NovaFlavor | None, digest: str | None
) -> None:
    """Make or remove the Nova flavor.

    It is made anew for each change, which does no harm, because it has no servers.
    """
    _note(flavor_id, noted, _CHANGING)
    if wanted is None:
        nova.remove_flavor(flavor_id)
    else:
        placement.make_trait(TRAIT)
        nova.replace_flavor(wanted)
    _note(flavor_id, _CHANGING, digest)


def _note(flavor_id: str, before: str | None, after: str | None) -> None:
    with session.writer() as db:
        flavors.note_shown(db, flavor_id, before, after)
