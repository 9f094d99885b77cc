"""What users must know to boot a server on a reservation, tried against Nova."""

from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together

#: The code of the warning about Nova's quota.
_QUOTA = "nova_quota"


def boot(who: Person, booked: dict[str, Any], name: str, **more: str) -> str:
    """Request a server on a reservation, and return the server's status when it has settled."""
    server = who.boots(booked["compute_flavor"], name, **more)
    return until("a server", lambda: who.server_settles(server)).status


def test_running_reservation_names_a_zone_in_which_servers_boot(alpha: Person, offer: Offer):
    mine = world.booked_now(alpha, offer())
    assert "availability_zone" not in world.show(alpha, mine)
    running = world.becomes(alpha, mine, "ACTIVE")
    zone = running["availability_zone"]
    assert zone
    assert boot(alpha, running, "functional-zone", zone=zone) == "ACTIVE"


@pytest.mark.whole
def test_hint_of_host_reservations_finds_no_host(alpha: Person, offer: Offer):
    """Blazar's filter takes the server for one of a host reservation, as the guide says."""
    running = world.becomes(alpha, world.booked_now(alpha, offer()), "ACTIVE")
    assert boot(alpha, running, "functional-hint", reservation=running["id"]) == "ERROR"
    assert boot(alpha, running, "functional-plain") == "ACTIVE"


def test_booking_beyond_novas_quota_is_warned_of(admin: Person, beta: Person, offer: Offer):
    project = beta.cloud.session.get_project_id()
    flavor, period = offer(), world.far()
    quota = admin.cloud.compute.get_quota_set(project)
    admin.cloud.set_compute_quotas(project, cores=2)
    try:
        body = {"flavor_id": flavor["id"], **period.v2, "instance_count": 3}

        def warned() -> bool:
            foreseen = beta.asks("POST", "/v2/reservations/?dry_run=true", body)
            return [each["code"] for each in foreseen["warnings"]] == [_QUOTA]

        # Nova may answer later than the dry run is decided.
        until("the warning", warned)
        booked = world.booked(beta, flavor, period, 3)
        until("the warning", lambda: world.show(beta, booked).get("warnings"))
    finally:
        admin.cloud.set_compute_quotas(project, cores=quota.cores)
