"""Series over the API: what is booked, what is refused, whose series one sees, and how they end."""

import datetime
from concurrent import futures
from typing import Any

import pytest
from blazar.context import BlazarContext
from oslo_utils import timeutils

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.domain.slots.free_time import FreeTime
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.services.booking.through_manager import reservations
from warre_blazar.services.series import unattended as keeping


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, slots=2, max_length_hours=24)


def starts(series: dict[str, Any]) -> list[str]:
    return [each["start"] for each in series["reservations"]]


def of_series(person: Person, series: dict[str, Any]) -> list[dict[str, Any]]:
    return person.get(f"reservations?series_id={series['id']}").json["results"]


def test_each_occurrence_is_an_ordinary_reservation(alpha: Person, flavor):
    made = things.add_series(alpha, flavor, name="lesson", rrule="FREQ=DAILY;COUNT=3")
    assert made["status"] == "booked"
    assert made["planned"] == 3
    assert made["refused"] == []
    assert made["hours"] == 2
    booked = of_series(alpha, made)
    assert [b["start"] for b in booked] == starts(made) == [things.at(d, 9) for d in (3, 4, 5)]
    assert {b["name"] for b in booked} == {"lesson"}
    assert {b["series_id"] for b in booked} == {made["id"]}
    assert alpha.get(f"series/{made['id']}").json["reservations"] == made["reservations"]
    (listed,) = alpha.get("series").json["results"]
    assert listed["id"] == made["id"]
    assert "reservations" not in listed


def test_local_time_is_kept_when_the_clocks_change(alpha: Person, admin: Person):
    flavor = things.add_flavor(admin)
    made = things.add_series(
        alpha,
        flavor,
        start="2100-03-22T09:00",
        timezone="Europe/Berlin",
        rrule="FREQ=WEEKLY;COUNT=2",
    )
    assert starts(made) == ["2100-03-22T08:00:00+00:00", "2100-03-29T07:00:00+00:00"]


def test_what_fits_is_booked_and_the_rest_is_told(alpha: Person, beta: Person, flavor):
    things.book(beta, flavor, start=things.at(4, 10), end=things.at(4, 20), instance_count=2)
    made = things.add_series(alpha, flavor, rrule="FREQ=DAILY;COUNT=3")
    assert starts(made) == [things.at(3, 9), things.at(5, 9)]
    (refused,) = made["refused"]
    assert (refused["start"], refused["code"]) == (things.at(4, 9), "slots_exhausted")
    assert refused["next_start"] == things.at(4, 20)


def test_all_or_none_books_nothing_if_one_does_not_fit(alpha: Person, beta: Person, flavor):
    things.book(beta, flavor, start=things.at(4, 10), end=things.at(4, 20), instance_count=2)
    asked = things.series(flavor, rrule="FREQ=DAILY;COUNT=3", all_or_none=True)
    refused = alpha.post("series", asked)
    assert refusal(refused) == (409, "series_refused")
    assert [each["start"] for each in refused.json["detail"]["refused"]] == [things.at(4, 9)]
    assert alpha.get("reservations").json["results"] == []
    assert alpha.get("series").json["results"] == []


def test_all_or_none_is_undone_if_somebody_is_faster(
    alpha: Person, beta: Person, flavor, monkeypatch
):
    create = reservations.create

    def slow(caller: Any, request: Any, lease_id: str | None = None) -> Any:
        if request.span.start == things.moment(5, 9):
            day = {"start": things.at(5, 8), "end": things.at(5, 20)}
            monkeypatch.setattr(reservations, "create", create)
            # Pecan handles one request of a thread at a time.
            with futures.ThreadPoolExecutor() as pool:
                pool.submit(things.book, beta, flavor, instance_count=2, **day).result()
        return create(caller, request, lease_id)

    monkeypatch.setattr(reservations, "create", slow)
    asked = things.series(flavor, rrule="FREQ=DAILY;COUNT=3", all_or_none=True)
    assert refusal(alpha.post("series", asked)) == (409, "series_refused")
    assert alpha.get("reservations").json["results"] == []
    assert alpha.get("series").json["results"] == []


def test_dry_run_says_what_would_be_booked(site: Site, alpha: Person, beta: Person, flavor):
    things.book(beta, flavor, start=things.at(4, 10), end=things.at(4, 20), instance_count=2)
    before = site.rows()
    asked = things.series(flavor, rrule="FREQ=DAILY;COUNT=3")
    foreseen = alpha.post("series?dry_run=true", asked).json
    assert foreseen["bookable"]
    assert len(foreseen["occurrences"]) == 3
    assert [each["start"] for each in foreseen["refused"]] == [things.at(4, 9)]
    asked["all_or_none"] = True
    assert not alpha.post("series?dry_run=true", asked).json["bookable"]
    assert site.rows() == before


def test_dry_run_adds_up_the_quota(site: Site, alpha: Person, flavor):
    site.cloud.keystone.limits[alpha.project_id, "hours"] = 5
    asked = things.series(flavor, rrule="FREQ=DAILY;COUNT=3")
    (refused,) = alpha.post("series?dry_run=true", asked).json["refused"]
    assert (refused["start"], refused["code"]) == (things.at(5, 9), "quota_exceeded")
    assert [r["code"] for r in things.made(alpha.post("series", asked))["refused"]] == [
        "quota_exceeded"
    ]


def test_series_is_extended_by_number_and_until_a_time(alpha: Person, flavor):
    made = things.add_series(alpha, flavor)
    path = f"series/{made['id']}"
    longer = alpha.patch(path, {"more": 1}).json
    assert starts(longer) == [things.at(d, 9) for d in (3, 4, 5)]
    alpha.delete(f"reservations/{made['reservations'][1]['id']}")
    longest = alpha.patch(path, {"until": things.at(7, 9)[:16]}).json
    # What was deleted isn't booked again.
    assert starts(longest) == [things.at(d, 9) for d in (3, 5, 6, 7)]
    assert longest["planned"] == 5


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, None),
        ({"more": 0}, "more"),
        ({"more": 60}, "more"),
        ({"more": 1, "until": "2100-01-09T09:00"}, "until"),
        ({"until": "2100-01-02T09:00"}, "until"),
        ({"until": "2100-01-09T09:00Z"}, "until"),
        ({"until": "2100-02-30T09:00"}, "until"),
        ({"name": "x", "more": 1}, "more"),
        ({"rrule": "FREQ=DAILY;COUNT=2"}, "rrule"),
        ({"hours": 0.001}, "hours"),
    ],
)
def test_bad_extension_is_refused(alpha: Person, flavor, body, field):
    made = things.add_series(alpha, flavor)
    refused = alpha.patch(f"series/{made['id']}", body)
    assert refused.status_int == 400
    assert refused.json.get("detail", {}).get("field") == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rrule": "FREQ=SECONDLY"}, "rrule"),
        ({"rrule": "FREQ=MONTHLY;COUNT=2;BYMONTHDAY=\U0001d7cf"}, "rrule"),
        ({"rrule": "FREQ=DAILY;COUNT=61"}, "rrule"),
        ({"rrule": "FREQ=DAILY;COUNT=2;UNTIL=21000110"}, "rrule"),
        ({"rrule": "FREQ=DAILY;UNTIL=tomorrow"}, "rrule"),
        ({"rrule": "FREQ=DAILY;BYHOUR=9;BYMINUTE=0,30"}, "rrule"),
        ({"rrule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31;COUNT=2"}, "start"),
        ({"rrule": "FREQ=DAILY"}, "rrule"),
        ({"rrule": "FREQ=WEEKLY;BYDAY=MO"}, "rrule"),
        ({"rrule": "FREQ=YEARLY;COUNT=9"}, "rrule"),
        ({"rrule": "DTSTART:21000101\nRRULE:FREQ=DAILY"}, "rrule"),
        ({"exdates": ["christmas"]}, "exdates"),
        ({"exdates": ["2100-02-30"]}, "exdates"),
        ({"exdates": "2100-01-04"}, "exdates"),
        ({"start": "2100-01-04T09:00:00Z"}, "start"),
        ({"start": "2100-13-04T09:00"}, "start"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"hours": 0}, "hours"),
        ({"hours": 0.001}, "hours"),
        ({"hours": "2"}, "hours"),
        ({"instance_count": 0}, "instance_count"),
        ({"color": "red"}, "color"),
    ],
)
def test_bad_series_is_refused(site: Site, alpha: Person, flavor, changes, field):
    before = site.rows()
    for query in ("", "?dry_run=true"):
        refused = alpha.post(f"series{query}", things.series(flavor, **changes))
        assert refusal(refused) == (422, "invalid_field")
        assert refused.json["detail"]["field"] == field
    assert site.rows() == before


def test_what_is_missing_stays_with_the_reasons_and_is_booked_later(
    alpha: Person, beta: Person, flavor
):
    taken = things.book(beta, flavor, start=things.at(4, 10), end=things.at(5, 9), instance_count=2)
    things.book(beta, flavor, start=things.at(5, 10), end=things.at(5, 20), instance_count=2)
    made = things.add_series(alpha, flavor, rrule="FREQ=DAILY;COUNT=4")
    path = f"series/{made['id']}"
    alpha.delete(f"reservations/{made['reservations'][0]['id']}")
    shown = alpha.get(path).json
    states = [(each["start"], each["state"], each["code"]) for each in shown["missing"]]
    assert states == [
        (things.at(3, 9), "dropped", None),
        (things.at(4, 9), "missing", "slots_exhausted"),
        (things.at(5, 9), "missing", "slots_exhausted"),
    ]
    assert [each["message"][:11] for each in shown["missing"][1:]] == ["No capacity"] * 2
    assert shown["missing"][0]["deleted_by"] == alpha.user_id
    assert shown["missing"][0]["deleted_at"]
    (listed,) = alpha.get("series").json["results"]
    for each in (shown, listed):
        assert (each["planned"], each["unbooked"]) == (4, 2)
    assert refusal(alpha.patch(path, {"missing": True})) == (409, "series_refused")
    assert alpha.get(path).json == shown
    beta.delete(f"reservations/{taken['id']}")
    foreseen = alpha.patch(f"{path}?dry_run=true", {"missing": True}).json
    assert [each["start"] for each in foreseen["refused"]] == [things.at(5, 9)]
    longer = alpha.patch(path, {"missing": True}).json
    assert starts(longer) == [things.at(d, 9) for d in (4, 6)]
    assert [each["state"] for each in longer["missing"]] == ["dropped", "missing"]
    assert (longer["planned"], longer["unbooked"], longer["status"]) == (4, 1, "booked")
    assert starts(alpha.patch(path, {"more": 1}).json) == [things.at(d, 9) for d in (4, 6, 7)]


def test_lessons_that_have_not_begun_change_and_further_ones_get_the_same(
    alpha: Person, beta: Person, flavor
):
    things.book(beta, flavor, start=things.at(4, 11), end=things.at(4, 20), instance_count=2)
    made = things.add_series(alpha, flavor, rrule="FREQ=DAILY;COUNT=3", name="lesson")
    path, change = f"series/{made['id']}", {"hours": 3, "name": "lab", "note": None}
    foreseen = alpha.patch(f"{path}?dry_run=true", change).json
    assert [each["end"] for each in foreseen["occurrences"]] == [
        things.at(d, 12) for d in (3, 4, 5)
    ]
    assert [each["start"] for each in foreseen["refused"]] == [things.at(4, 9)]
    assert alpha.get(path).json["name"] == "lesson"
    changed = alpha.patch(path, change).json
    assert [each["end"] for each in changed["reservations"]] == [
        *(things.at(3, 12), things.at(4, 11), things.at(5, 12)),
    ]
    assert [each["code"] for each in changed["refused"]] == ["slots_exhausted"]
    assert (changed["name"], changed["hours"], changed["status"]) == ("lab", 3, "booked")
    assert [b["name"] for b in of_series(alpha, made)] == ["lab", "lesson", "lab"]
    longer = alpha.patch(path, {"more": 1}).json
    assert longer["reservations"][-1]["end"] == things.at(6, 12)
    refused = alpha.patch(path, {"instance_count": 9})
    assert refusal(refused) == (409, "series_refused")
    assert "Nothing was changed: 4 of 4" in refused.json["error_message"]
    assert alpha.get(path).json["instance_count"] == 1
    alpha.delete(path)
    assert refusal(alpha.patch(path, {"name": "late"})) == (409, "invalid_state")


def test_nothing_missing_is_not_booked(alpha: Person, flavor):
    made = things.add_series(alpha, flavor)
    alpha.delete(f"reservations/{made['reservations'][0]['id']}")
    refused = alpha.patch(f"series/{made['id']}", {"missing": True})
    assert refusal(refused) == (400, "invalid_field")
    assert refused.json["detail"]["field"] == "missing"


def test_holidays_are_left_out_of_what_is_booked_and_extended(alpha: Person, flavor):
    rule = "DTSTART:21000104T090000\nRRULE:FREQ=DAILY; COUNT=3;\nEXDATE:21000105T090000"
    days = ["2100-01-08", "2100-01-04T10:00"]
    made = things.add_series(alpha, flavor, rrule=rule, exdates=days)
    assert starts(made) == [things.at(d, 9) for d in (3, 5)]
    assert (made["rrule"], made["planned"]) == ("FREQ=DAILY;COUNT=3", 2)
    assert made["exdates"] == ["2100-01-04T10:00", "2100-01-05T09:00", "2100-01-08"]
    longer = alpha.patch(f"series/{made['id']}", {"more": 2}).json
    assert starts(longer) == [things.at(d, 9) for d in (3, 5, 6, 8)]
    body = {"until": things.at(11, 9)[:16], "exdates": ["2100-01-11"]}
    longest = alpha.patch(f"series/{made['id']}", body).json
    assert starts(longest) == [things.at(d, 9) for d in (3, 5, 6, 8, 9, 11)]
    assert longest["exdates"][-1] == "2100-01-11"


def test_series_of_an_older_release_without_an_end_goes_on_only_up_to_a_new_one(
    alpha: Person, flavor
):
    made = things.add_series(alpha, flavor)
    assert made["cut_off"] is False
    with session.writer() as db:
        db.execute(tables.series.update().values(rrule="FREQ=DAILY"))
    path = f"series/{made['id']}"
    shown = alpha.get(path).json
    assert shown == {**shown, "cut_off": True, "planned": 2, "rrule": "FREQ=DAILY"}
    assert starts(shown) == starts(made)
    assert alpha.get("series").json["results"][0]["cut_off"] is True
    for number, end in enumerate(({"more": 1}, {"until": things.at(6, 9)[:16]}), 3):
        longer = alpha.patch(path, end).json
        assert (len(starts(longer)), longer["planned"]) == (number, number)


def test_series_of_another_project_is_not_there(
    alpha: Person, beta: Person, reader: Person, admin: Person, flavor
):
    made = things.add_series(alpha, flavor)
    path = f"series/{made['id']}"
    for answer in (beta.get(path), beta.patch(path, {"more": 1}), beta.delete(path)):
        assert refusal(answer) == (404, "series_not_found")
    assert beta.get("series").json["results"] == []
    assert refusal(beta.get("series?all_projects=true"))[0] == 403
    assert [s["id"] for s in admin.get("series?all_projects=true").json["results"]] == [made["id"]]
    # A reader sees it, and may not change it.
    assert reader.get(path).json["id"] == made["id"]
    assert refusal(reader.delete(path)) == (403, "forbidden")
    assert len(of_series(alpha, made)) == 2


def test_admin_with_a_role_makes_a_series_for_a_project(
    site: Site, admin: Person, alpha: Person, beta: Person, flavor
):
    asked = things.series(flavor, project_id=alpha.project_id)
    assert refusal(beta.post("series", asked)) == (403, "forbidden")
    assert refusal(admin.post("series", asked)) == (403, "forbidden")
    site.cloud.keystone.roles[admin.user_id, alpha.project_id] = ["member"]
    made = things.made(admin.post("series", asked))
    assert made["project_id"] == alpha.project_id
    assert [r["user_id"] for r in of_series(alpha, made)] == [admin.user_id] * 2
    assert alpha.delete(f"series/{made['id']}").status_int == 204
    assert alpha.get("reservations").json["results"] == []


def test_end_deletes_what_has_not_begun(site: Site, alpha: Person, flavor):
    made = things.add_series(alpha, flavor, rrule="FREQ=DAILY;COUNT=3")
    site.set_time(things.moment(3, 10))
    site.execute()
    site.execute()
    path = f"series/{made['id']}"
    assert alpha.delete(path).status_int == 204
    ended = alpha.get(path).json
    assert ended["status"] == "ended"
    assert [(r["start"], r["status"]) for r in ended["reservations"]] == [
        (things.at(3, 9), "ACTIVE")
    ]
    assert refusal(alpha.patch(path, {"more": 1})) == (409, "invalid_state")
    assert alpha.delete(f"{path}?running=true").status_int == 204
    assert alpha.get(path).json["reservations"] == []
    deleted = alpha.get(f"reservations?deleted=true&series_id={made['id']}").json["results"]
    assert len(deleted) == 3


def test_repeated_request_books_once(alpha: Person, flavor):
    headers = {"Idempotency-Key": "course"}
    asked = things.series(flavor)
    first, second = (alpha.send("POST", "series", asked, headers).json for _ in range(2))
    assert first["id"] == second["id"]
    assert len(alpha.get("reservations").json["results"]) == 2


@pytest.mark.parametrize("work", ["another", "x", None])
def test_nobody_else_joins_a_series(alpha: Person, flavor, work: str | None):
    """The values come as from a client of v1, who knows the id of the series."""
    made = things.add_series(alpha, flavor)
    reservation = {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": 1}
    reservation["series_id"] = made["id"]
    if work:
        reservation["series_work"] = made["id"] if work == "another" else work
    context = BlazarContext(user_id=alpha.user_id, project_id=alpha.project_id, roles=["member"])
    lease = {
        "name": "thief",
        "start_date": "2100-01-09 09:00",
        "end_date": "2100-01-09 10:00",
        "user_id": alpha.user_id,
        "trust_id": None,
        "reservations": [reservation],
    }
    with pytest.raises(exceptions.Refused) as refused:
        manager.create_lease(context.to_dict(), lease)
    expected = "series_ended" if work == "another" else "invalid_field"
    assert refused.value.code == expected
    assert len(of_series(alpha, made)) == 2
    assert len(alpha.get("reservations").json["results"]) == 2


class Died(BaseException):
    """The process has died."""


@pytest.mark.parametrize("all_or_none", [True, False])
def test_manager_goes_on_after_a_request_that_has_died(
    site: Site, alpha: Person, flavor, monkeypatch, all_or_none: bool
):
    create = reservations.create

    def dying(caller: Any, request: Any, lease_id: str | None = None) -> Any:
        if request.span.start == things.moment(5, 9):
            raise Died
        return create(caller, request, lease_id)

    monkeypatch.setattr(reservations, "create", dying)
    asked = things.series(flavor, rrule="FREQ=DAILY;COUNT=3", all_or_none=all_or_none)
    with pytest.raises(Died):
        alpha.post("series", asked)
    keeping.look()
    assert [s["status"] for s in alpha.get("series").json["results"]] == ["booking"]
    monkeypatch.setattr(times, "BOOKING_SERIES_DEAD_AFTER", -1)
    monkeypatch.setattr(times, "DELETING_SERIES_DEAD_AFTER", -1)
    keeping.look()
    site.execute()
    keeping.look()
    left = alpha.get("series").json["results"]
    if all_or_none:
        assert left == alpha.get("reservations").json["results"] == []
    else:
        assert [(s["status"], s["planned"]) for s in left] == [("booked", 3)]
        assert len(alpha.get("reservations").json["results"]) == 2


def test_forgotten_once_nothing_is_left(alpha: Person, flavor):
    made = things.add_series(alpha, flavor)
    long_after = timeutils.utcnow() + datetime.timedelta(days=99)
    assert keeping.forget(long_after, 1) == 0
    alpha.delete(f"series/{made['id']}")
    assert keeping.forget(long_after, 1) == 0


def test_refused_series_is_searched_once(alpha: Person, beta: Person, flavor, monkeypatch):
    for day in (3, 4, 5):
        span = {"start": things.at(day, 8), "end": things.at(day, 20)}
        things.book(beta, flavor, instance_count=2, **span)
    searches = []
    find = FreeTime.find

    def counted(self: FreeTime, **options: Any) -> Any:
        searches.append(options)
        return find(self, **options)

    monkeypatch.setattr(FreeTime, "find", counted)
    asked = things.series(flavor, rrule="FREQ=DAILY;COUNT=3")
    refused = alpha.post("series?dry_run=true", asked).json["refused"]
    assert [each["next_start"] for each in refused] == [things.at(d, 20) for d in (3, 4, 5)]
    assert len(searches) == 1
    searches.clear()
    assert refusal(alpha.post("series", asked)) == (409, "series_refused")
    assert len(searches) == 1


@pytest.mark.parametrize("way", ["series?dry_run=true", "series"])
def test_no_time_is_suggested_for_what_the_quota_refuses(site: Site, alpha, flavor, way):
    things.book(alpha, flavor, start=things.at(4, 8), end=things.at(4, 10), instance_count=2)
    # The third occurrence is refused by the quota. So another time doesn't help the second.
    site.cloud.keystone.limits[alpha.project_id, "hours"] = 4 + 2
    answer = alpha.post(way, things.series(flavor, rrule="FREQ=DAILY;COUNT=3")).json
    refused = [(each["code"], each["next_start"]) for each in answer["refused"]]
    assert refused == [("slots_exhausted", None), ("quota_exceeded", None)]
