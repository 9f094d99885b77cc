"""A snapshot before the end, from a server to an image that boots in the user's project.

The computes of the dev cloud upload a small image for each snapshot.
"""

from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together

#: Less than the 30 minutes before the end at which snapshots begin.
HOURS = 0.25


def test_the_snapshot_of_a_server_is_an_image_of_the_project_that_boots(
    alpha: Person, offer: Offer
) -> None:
    flavor = offer(before_end="snapshot")
    booked = world.booked_now(alpha, flavor, count=2, hours=HOURS)
    reservation = world.becomes(alpha, booked, "ACTIVE")
    server = _runs(alpha, alpha.boots(reservation["compute_flavor"], world.unique("kept")))

    def saved() -> list[dict[str, Any]]:
        told = world.show(alpha, reservation).get("snapshots", [])
        return [s for s in told if s["server"] == server.id and s["status"] == "saved"]

    (snapshot,) = until("the snapshot to be saved", saved)
    image = alpha.cloud.image.get_image(snapshot["image"])
    try:
        assert (image.status, image.owner) == ("active", alpha.cloud.current_project_id)
        again = world.unique("again")
        _runs(alpha, alpha.boots(reservation["compute_flavor"], again, image_id=image.id))
    finally:
        alpha.cloud.image.delete_image(image.id)


def _runs(who: Person, server: Any) -> Any:
    shown = until("the server to settle", lambda: who.server_settles(server))
    assert shown.status == "ACTIVE", shown
    return shown
