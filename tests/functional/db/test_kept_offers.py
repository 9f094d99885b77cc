"""What a wait is told is kept for its project, also while others book at the same moment."""

from types import SimpleNamespace

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import races, world
from warre_blazar.domain.waits import Mode, Wait, WaitState
from warre_blazar.services.waits import serving
from warre_blazar.services.waits import waits as posting

pytestmark = pytest.mark.usefixtures("database")


def wait_of(project_id: str, flavor_id: str) -> Wait:
    """A wait that wants to be told of the next hour."""
    span = world.hours(1, 2)
    wait = Wait(
        id=f"wait-of-{project_id}",
        project_id=project_id,
        user_id="u",
        flavor_id=flavor_id,
        category=None,
        instance_count=1,
        length=span.end - span.start,
        window=span,
        created_at=world.NOW,
        expires_at=span.start,
        mode=Mode.TELL,
    )
    return posting.create(wait, 1, frozenset()).wait


@pytest.mark.every_kind
@pytest.mark.parametrize("seed", range(3))
def test_of_bookings_and_tellings_at_once_one_gets_the_room(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
):
    races.unlock(monkeypatch)
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=1)
    offer = SimpleNamespace(flavor=flavor)
    line = [wait_of(f"p{number}", flavor.id) for number in range(3)]
    wanted = world.request(flavor, world.hours(1, 2))
    leases = [world.add_lease(wanted.span) for _ in range(3)]
    jobs = [races.Job(lease, wanted, races.is_whole(kind)) for lease in leases]

    def tell(wait: Wait) -> None:
        asked = world.request(flavor, wait.window, project_id=wait.project_id)
        serving._tell(wait, offer, asked)

    tellings = [lambda wait=wait: tell(wait) for wait in line]
    outcomes = races.in_threads([*jobs[:2], *tellings, jobs[2]]).outcomes
    told = [each for each in line if posting.get(each.id).state is WaitState.TOLD]
    # A telling that comes too late does nothing.
    booked = outcomes["held"] - len(line)
    assert len(told) + booked == 1, outcomes
    assert outcomes["slots_exhausted"] == len(jobs) - booked
