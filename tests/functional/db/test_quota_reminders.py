"""Reservations that begin without enough quota in Nova are reminded of, once, a day before."""

import datetime

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from tests.functional.db.notices import waiting
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries
from warre_blazar.domain.messages.notices import Kind
from warre_blazar.errors import exceptions
from warre_blazar.services.messages import reminders

pytestmark = pytest.mark.usefixtures("database", "channel")

SPAN = world.hours(48, 50)
DAY_BEFORE = SPAN.start - times.DAY
MINUTE = times.MINUTE


@pytest.fixture
def channel(database: sa.Engine) -> None:
    session.change(deliveries.set_channels, {"mail": False})


@pytest.fixture
def lease(cloud: Cloud) -> world.Lease:
    """A reservation of 2 instances with 2 vCPUs. Somebody has looked when it was booked."""
    cloud.nova.quotas[world.PROJECT] = {"cores": 3}
    world.add_host(cloud, "a")
    booked = world.plan(world.request(world.add_flavor(slots=2), SPAN, 2))
    look(world.NOW)
    return booked


def look(now: datetime.datetime, manager_id: str = "one") -> None:
    reminders.remind_of_quota(now, manager_id)


def told() -> list[str]:
    notices = [notice for notice in waiting("mail") if notice.news.kind is Kind.NOVA_QUOTA]
    return [(notice.news.after or {})["warning"] for notice in notices]


def asked(cloud: Cloud) -> int:
    return sum("os-quota-sets" in line for line in cloud.nova.requests)


def test_reminder_comes_once_when_its_moment_has_come(cloud: Cloud, lease: world.Lease):
    look(DAY_BEFORE - MINUTE)
    assert (told(), asked(cloud)) == ([], 0)
    for minutes in range(4):
        look(DAY_BEFORE + minutes * MINUTE, f"manager-{minutes}")
    (warning,) = told()
    assert "they need 4 of cores, and the quota allows 3" in warning
    assert asked(cloud) == 1


def test_enough_quota_is_not_told(cloud: Cloud, lease: world.Lease):
    cloud.nova.quotas[world.PROJECT]["cores"] = 4
    look(DAY_BEFORE)
    assert (told(), asked(cloud)) == ([], 1)


def test_reminder_waits_until_nova_answers(cloud: Cloud, lease: world.Lease):
    cloud.nova.fail(match="os-quota-sets", status=503)
    with pytest.raises(exceptions.ServiceUnavailable):
        look(DAY_BEFORE)
    cloud.nova.mend()
    look(DAY_BEFORE + MINUTE)
    assert len(told()) == 1


def test_first_manager_of_a_site_asks_nova_nothing(cloud: Cloud, database: sa.Engine):
    world.add_host(cloud, "a")
    world.plan(world.request(world.add_flavor(slots=2), SPAN, 2))
    look(DAY_BEFORE)
    assert (told(), asked(cloud)) == ([], 0)
