"""Names and notes of reservations on each database, with any text that its connection carries."""

import contextlib
import dataclasses

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exc

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar import times
from warre_blazar.db import session
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.domain.booking import labels
from warre_blazar.domain.booking.labels import Labels
from warre_blazar.domain.maintenance import OverBookings
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import lookup
from warre_blazar.services.booking.through_manager import change
from warre_blazar.services.booking.through_manager.calls import Caller
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import over_bookings

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


def book(cloud: Cloud, given: Labels) -> world.Lease:
    world.add_host(cloud, "a")
    request = world.request(world.add_flavor(slots=3), SPAN)
    return world.book(dataclasses.replace(request, labels=given))


def names(name: str) -> list[str | None]:
    found, total = lookup.listing(Filter(project_id=world.PROJECT, name=name))
    assert total == len(found)
    return [r.labels.name for r, _ in found]


def test_labels_are_stored_and_found_by_name(cloud: Cloud):
    given = Labels("\u00dcbung 7", "a\nb")
    lease = book(cloud, given)
    assert lookup.get(lease.reservation_id, None)[0].labels == given
    assert names("\u00dcbung 7") == ["\u00dcbung 7"]
    assert names("\u00fcbung 7") == []
    found, _ = lookup.get(lease.reservation_id, None)
    lookup.write(found, {"name": None, "note": "x" * 4096}, "user")
    assert names("\u00dcbung 7") == []


def test_labels_that_others_have_changed_meanwhile_stay(cloud: Cloud):
    found, _ = lookup.get(book(cloud, Labels("old", "old")).reservation_id, None)
    for user, new in (("ada", {"name": "new"}), ("bob", {"note": "new"}), ("cy", {"name": "new"})):
        asked = change.ChangeRequest(labels=new)
        change.change(Caller(user, {}), found, asked, world.conditions())
    renamed, _ = lookup.get(found.id, None)
    assert renamed.labels == Labels("new", "new")
    told = [(each.user_id, each.before, each.after) for each in lookup.log(renamed)[1:]]
    assert told == [
        ("ada", {"name": "old"}, {"name": "new"}),
        ("bob", {"note": "old"}, {"note": "new"}),
    ]


@pytest.mark.parametrize("is_written", [True, False])
def test_rename_whose_connection_is_lost(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, is_written: bool
):
    """The connection may be lost before the database writes the name, or after it has."""
    lease = book(cloud, Labels("old"))
    write = lookup.write

    def lose(*args) -> None:
        if is_written:
            write(*args)
        raise db_exc.DBConnectionError

    monkeypatch.setattr(lookup, "write", lose)
    monkeypatch.setattr(times, "SEEN_WITHIN", 0)
    wanted = change.ChangeRequest(labels={"name": "new"})
    caller = Caller("user", {})
    found, _ = lookup.get(lease.reservation_id, None)
    with contextlib.nullcontext() if is_written else pytest.raises(db_exc.DBConnectionError):
        change.change(caller, found, wanted, world.conditions())
    assert names("new") == (["new"] if is_written else [])


@pytest.mark.parametrize("given", [Labels("\U0001f600"), Labels(note="\U0001f600")])
def test_text_that_the_connection_cannot_carry_is_refused(kind: str, given: Labels, caplog):
    session.keep_uncarried_texts_out_of_the_log()
    if kind == "mariadb":  # The tests connect to it as Blazar's installation guide says.
        with pytest.raises(session.FAILURES) as refused:
            lookup.check_labels(given)
        assert session.is_uncarried(refused.value)
    else:
        lookup.check_labels(given)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("what", ["window", "flavor"])
def test_preview_with_a_text_that_the_connection_cannot_carry_is_refused(
    kind: str, cloud: Cloud, what: str
):
    world.add_host(cloud, "a")
    flavor, over = (
        world.add_flavor(),
        over_bookings.OverBookingsRequest(OverBookings.MOVE, world.conditions(), world.NOW),
    )
    previews = {
        "window": lambda: over_bookings.create(SPAN, "\U0001f600", [], ["a"], over, dry_run=True),
        "flavor": lambda: flavors.update(flavor.id, {"description": "\U0001f600"}, dry_run=True),
    }
    if kind == "mariadb":
        with pytest.raises(session.FAILURES) as refused:
            previews[what]()
        assert session.is_uncarried(refused.value)
    else:
        previews[what]()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", " x"),
        ("name", "a\tb"),
        ("name", 7),
        ("name", "x" * 256),
        ("note", "a\x00"),
        ("note", "x" * 4097),
        ("note", "\ud83d"),
        ("contact", "nobody"),
        ("contact", "a@example.org\n"),
        ("contact", ["a@example.org"]),
        ("timezone", "Europe/Nowhere"),
        ("timezone", "Europe"),
        ("timezone", "../zoneinfo/UTC"),
    ],
)
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session")
def test_invalid_label_is_refused(field, value, database: sa.Engine):
    with pytest.raises(exceptions.InvalidField) as refused:
        labels.checked({field: value})
    assert refused.value.detail["field"] == field
