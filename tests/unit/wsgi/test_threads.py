"""Several threads of one process serve requests at the same time."""

import random
import threading
from concurrent import futures

import pytest
from blazar import policy

from tests.unit.wsgi import sending, two_projects
from tests.unit.wsgi.whole import WholeSite

_PATHS = (
    "/v2/reservations/",
    "/v2/flavors/",
    "/v2/limits/",
    "/v2/warre/v1/reservations/",
    "/v1/leases",
)
_REQUESTS = 30


@pytest.fixture
def things(site: WholeSite) -> two_projects.Things:
    return two_projects.furnish(site)


def test_each_thread_answers_to_its_own_caller(site: WholeSite, things: two_projects.Things):
    callers = [*two_projects.PROJECTS, None] * 3
    together = threading.Barrier(len(callers))

    def ask(number: int) -> list[str]:
        """What is wrong with the answers to one caller. None has no token."""
        who = callers[number]
        choice, wrong = random.Random(number), []
        together.wait()
        for _ in range(_REQUESTS):
            path = choice.choice(_PATHS)
            answer = sending.send(site.app, "GET", path, who=who)
            if answer.status_int != (200 if who else 401):
                wrong.append(f"{who} {path}: {answer.status} {answer.text}")
            for owner, secrets in things.secrets.items():
                seen = [secret for secret in secrets if secret in answer.text]
                if owner != who and seen:
                    wrong.append(f"{who} {path} shows {seen}")
        return wrong

    with futures.ThreadPoolExecutor(len(callers)) as pool:
        assert [wrong for found in pool.map(ask, range(len(callers))) for wrong in found] == []


def test_application_has_its_policies_before_the_first_request(site: WholeSite):
    """Blazar loads them at the first request, and other threads go on before they are complete."""
    policy.reset()
    site._make_app()
    assert policy._ENFORCER is not None
    assert policy._ENFORCER.rules.keys() >= policy._ENFORCER.registered_rules.keys()
