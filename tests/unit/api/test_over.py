"""What was there and is over: one sentence says when and by whom, however the user names it."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from tests.unit.api.typed import Terminal
from warre_blazar.cli import reservations, series, waits

#: How a user names something: by its name, its id, or the start of its id.
REFS = ("name", "id", "start")


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin)


def named(item: dict, ref: str) -> tuple[str, str]:
    """What the user types, and how the sentence names it."""
    if ref == "name":
        return item["name"], f"{item['name']} ({item['id']})"
    return item["id"] if ref == "id" else item["id"][:8], item["id"]


@pytest.mark.parametrize("ref", REFS)
def test_deleted_reservation(
    alpha: Person, colleague: Person, flavor: dict, typed: Terminal, ref: str
):
    booked = things.book(alpha, flavor, name="thesis")
    colleague.delete(f"reservations/{booked['id']}")
    ref, name = named(booked, ref)
    for command, *more in (
        (reservations.DeleteReservation, "--yes"),
        (reservations.UpdateReservation, "--note", "x"),
        (reservations.UpdateReservation, "--length", "5h"),
    ):
        assert typed.run("alpha", command, ref, *more) == (
            f"Failed: Reservation {name} was deleted at 2100-01-01 12:00 UTC by user-colleague. "
            f"openstack reservation show {booked['id']} shows what is kept of it"
        )


@pytest.mark.parametrize("ref", REFS)
def test_deleted_reservation_is_shown(alpha: Person, flavor: dict, typed: Terminal, ref: str):
    booked = things.book(alpha, flavor, name="thesis")
    alpha.delete(f"reservations/{booked['id']}")
    shown = typed.run("alpha", reservations.ShowReservation, named(booked, ref)[0])
    assert "Deleted 2100-01-01 12:00 UTC by user-alpha" in shown


def test_members_of_other_projects_hear_nothing_of_a_deleted_reservation(
    alpha: Person, beta: Person, flavor: dict
):
    booked = things.book(alpha, flavor)
    alpha.delete(f"reservations/{booked['id']}")
    said = beta.delete(f"reservations/{booked['id']}").json
    assert said["error_message"] == f"Reservation {booked['id']} doesn't exist"


@pytest.mark.parametrize("ref", REFS)
def test_reservation_that_has_ended(
    site: Site, alpha: Person, flavor: dict, typed: Terminal, ref: str
):
    booked = things.book(alpha, flavor, name="lab2")
    for hour in (9, 11):
        site.set_time(things.moment(2, hour))
        site.execute()
    ref, name = named(booked, ref)
    assert typed.run("alpha", reservations.UpdateReservation, ref, "--length", "5h") == (
        f"Failed: Reservation {name} ended at 2100-01-03 11:00 UTC"
    )


@pytest.mark.parametrize("ref", REFS)
def test_series_that_was_ended(
    site: Site, alpha: Person, colleague: Person, flavor: dict, typed: Terminal, ref: str
):
    item = things.add_series(alpha, flavor, name="course")
    assert (item["ended_at"], item["ended_by"]) == (None, None)
    colleague.delete(f"series/{item['id']}")
    site.set_time(things.moment(1))
    alpha.delete(f"series/{item['id']}")
    ref, name = named(item, ref)
    for command, *more in (
        (series.DeleteSeries, "--yes"),
        (series.ExtendSeries, "--more", "1"),
        (series.UpdateSeries, "--length", "5h"),
    ):
        assert typed.run("alpha", command, ref, *more) == (
            f"Failed: Series {name} was ended at 2100-01-01 12:00 UTC by user-colleague; make "
            "another series"
        )


@pytest.mark.parametrize("ref", REFS)
def test_wait_that_was_canceled(
    alpha: Person, colleague: Person, flavor: dict, typed: Terminal, ref: str
):
    for person in (alpha, colleague):
        item = things.add_wait(person, flavor, name="any", **{"from": things.at(1)})
        person.delete(f"waits/{item['id']}")
    ref, name = named(item, ref)
    assert typed.run("alpha", waits.DeleteWait, ref) == (
        f"Failed: Wait {name} is CANCELED since 2100-01-01 12:00 UTC by user-colleague. See "
        "openstack reservation wait list"
    )
