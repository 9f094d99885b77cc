"""Commands about many flavors, and booking the earliest offer."""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing, reservation
from warre_blazar import texts
from warre_blazar.api import slot_views
from warre_blazar.cli import base, booking, offers, reservations
from warre_blazar.cli.failure import Failure
from warre_blazar.domain.booking import verdict
from warre_blazar.domain.slots.offers import FlavorOffer, NotOffered
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.slots.availability import FreeInstances, PartOfTime
from warre_blazar.services.slots.offers import Found

SMALL = dataclasses.replace(
    FLAVOR, id="small", name="small", shape=dataclasses.replace(FLAVOR.shape, vcpu=1)
)

FULL = exceptions.SlotsExhausted(1, 0, 2)


def offer(day: int, flavor: Any = FLAVOR) -> FlavorOffer:
    start = datetime.datetime(2099, 12, day, 9)
    return FlavorOffer(flavor, Span(start, start + datetime.timedelta(hours=24)), 2)


def found(*listed: FlavorOffer, missing: tuple[NotOffered, ...] = ()) -> Answer:
    longest = list({each.flavor.id: each for each in listed}.values())
    return Answer(200, slot_views.offers(Found(listed, len(listed), missing, longest)))


def test_end_with_a_plus_counts_from_the_start(api: Api, run: Run) -> None:
    api.answers["GET /v2/availability"] = Answer(200, {"results": [], "missing": []})
    run(offers.ListAvailability, "--from", "2027-03-26T09:00Z", "--to", "+3d")
    assert api.seen[-1].query["to"] == "2027-03-29T09:00:00+00:00"


def test_offers_are_listed_and_what_is_missing_is_explained(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = NotOffered(SMALL, FULL, offer(2, SMALL), offer(3, SMALL))
    api.answers["GET /v2/offers"] = found(offer(1), missing=(lacking,))
    rows = run_json(offers.ListOffers, "--hours", "24", "--count", "2", "--category", "gpu")
    assert rows == [
        {
            "flavor": "gpu.large",
            "start": "2099-12-01T09:00:00+00:00",
            "latest_end": "2099-12-02T09:00:00+00:00",
            "longest_hours": 24.0,
        }
    ]
    told = capsys.readouterr().err
    assert "No small: too few slots are free. Possible: 2 slots from" in told
    assert "up to 24 h from" in told
    query = api.seen[0].query
    assert (query["hours"], query["count"], query["category"]) == ("24.000000", "2", "gpu")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (offers.ListOffers, ["--hours", "24"]),
        (offers.ListAvailability, []),
        (booking.CreateReservation, ["--earliest", "--hours", "24"]),
    ],
)
def test_unknown_category_names_the_known_ones(
    api: Api, run: Run, command: type[base.Command], words: list[str]
) -> None:
    api.answers["GET /v2/offers"] = found()
    api.answers["GET /v2/availability"] = Answer(200, slot_views.availability([]))
    api.answers["GET /v2/flavors"] = [listing(), listing(flavor(category="gpu"))]
    with pytest.raises(Failure, match=r"category 'gpus'; categories: gpu$"):
        run(command, *words, "--category", "gpus")


def test_size_that_no_flavor_has_is_refused(api: Api, run: Run) -> None:
    api.answers["GET /v2/offers"] = found(offer(1))
    with pytest.raises(Failure, match=r"^No flavor that you may book is that large$"):
        run(offers.ListOffers, "--memory", "64T")


def test_longest_booking_of_each_flavor_is_told(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /v2/offers"] = found(offer(1, SMALL), offer(2))
    run(offers.ListOffers, "--limit", "1")
    told = capsys.readouterr().err
    assert "Longest of small: 2 slots for up to 24 h from 2099-12-01 09:00 UTC" in told
    assert "Longest of gpu.large: 2 slots for up to 24 h from 2099-12-02 09:00 UTC" in told
    run(offers.ListOffers, "--vcpu", "2")
    assert "Longest of small" not in capsys.readouterr().err


def test_hours_are_rounded_as_in_free_slots(api: Api, run_json: Callable[..., Any]) -> None:
    long = offer(1).span
    odd = Span(long.start, long.start + datetime.timedelta(hours=31, minutes=22))
    api.answers["GET /v2/offers"] = found(FlavorOffer(FLAVOR, odd, 2))
    assert [row["longest_hours"] for row in run_json(offers.ListOffers)] == [31.35]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("no_host_matches", "no host that can be booked matches the flavor"),
        ("gap_too_short", "your project's other reservations are too near"),
        *((code, "") for code in verdict.CODES),
    ],
)
def test_every_reason_is_told_in_words(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], reason: str, said: str
) -> None:
    why = exceptions.SlotsExhausted(1, 0, 2)
    why.code = reason
    api.answers["GET /v2/offers"] = found(missing=(NotOffered(SMALL, why, None, None),))
    run(offers.ListOffers)
    told = capsys.readouterr().err
    assert f"No small: {said}" in told
    assert f"No small: {reason}\n" not in told


def test_sizes_leave_out_smaller_flavors(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/offers"] = found(offer(1, SMALL), offer(2))
    rows = run_json(offers.ListOffers, "--vcpu", "2", "--limit", "1")
    assert [row["flavor"] for row in rows] == ["gpu.large"]
    run_json(booking.CreateReservation, "--earliest", "--hours", "1", "--vcpu", "2", "--dry-run")
    assert [request.query["limit"] for request in api.seen] == [str(2**31 - 1)] * 2


@pytest.mark.parametrize(("by", "sent"), [("day", "T00:00:00+02:00"), ("hour", None)])
def test_days_of_availability_begin_at_midnight(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, by: str, sent: str | None
) -> None:
    api.answers["GET /v2/availability"] = listing()
    run(offers.ListAvailability, "--by", by, "--timezone", "UTC+2")
    start = api.seen[-1].query.get("from")
    if sent is None:
        assert start is None
    else:
        zone = datetime.timezone(datetime.timedelta(hours=2))
        at = datetime.datetime.fromisoformat(start).astimezone(zone)
        assert at.timetz().isoformat() == sent.removeprefix("T")


def test_availability_has_a_row_for_each_day_and_says_what_is_missing(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    days = FreeInstances(FLAVOR, [PartOfTime(offer(1).span, 2), PartOfTime(offer(2).span, 0)])
    api.answers["GET /v2/availability"] = Answer(
        200, slot_views.availability([days], [NotOffered(SMALL, FULL, None, None)])
    )
    rows = run_json(offers.ListAvailability, "--by", "day")
    assert f"No small: {texts.BRIEF['slots_exhausted'].sentence({})}" in capsys.readouterr().err
    assert [(row["start"][:10], row["free"]) for row in rows] == [
        ("2099-12-01", 2),
        ("2099-12-02", 0),
    ]


def test_earliest_takes_the_next_offer_when_another_was_faster(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /v2/offers"] = found(offer(1), offer(2))
    taken = error(409, "taken", "slots_exhausted")
    api.answers["POST /v2/reservations"] = [taken, Answer(200, reservation())]
    run(booking.CreateReservation, "--earliest", "--hours", "3", "--count", "2")
    bodies = [request.body for request in api.seen if request.body]
    assert [body["start"][:16] for body in bodies] == ["2099-12-01T09:00", "2099-12-02T09:00"]
    assert {body["flavor_id"] for body in bodies} == {FLAVOR.id}
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("2 slots of gpu.large, Tue 2099-12-01 09:00 UTC to ")
    assert told[1] == "Somebody else was faster. No slot is free then. Next:"
    assert told[2].startswith("2 slots of gpu.large, Wed 2099-12-02 09:00 UTC to ")


@pytest.mark.parametrize(("answer", "booked"), [("n", 0), ("y", 2)])
def test_earliest_asks_for_each_start_on_a_terminal(
    api: Api,
    run: Run,
    answers: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    answer: str,
    booked: int,
) -> None:
    answers(answer)
    api.answers["GET /v2/offers"] = found(offer(1), offer(2))
    taken = error(409, "taken", "slots_exhausted")
    api.answers["POST /v2/reservations"] = [taken, Answer(200, reservation())]
    given = ("--earliest", "--hours", "3")
    if answer == "y":
        run(booking.CreateReservation, *given)
    else:
        with pytest.raises(Failure, match="Nothing booked"):
            run(booking.CreateReservation, *given)
    assert len([request for request in api.seen if request.body]) == booked
    assert capsys.readouterr().err.count("Is that right?") == max(booked, 1)


def test_earliest_books_the_same_offer_later_if_the_start_passes_during_the_question(
    api: Api,
    run: Run,
    answers_slowly: Callable[[datetime.datetime], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked_at = datetime.datetime(2099, 12, 1, 9, 0, 55, tzinfo=datetime.UTC)
    answers_slowly(asked_at)
    api.answers["GET /v2/offers"] = found(offer(1), offer(2))
    passed = error(400, "In the past", "invalid_period")
    api.answers["POST /v2/reservations"] = [passed, Answer(200, reservation())]
    run(booking.CreateReservation, "--earliest", "--hours", "3")
    bodies = [request.body for request in api.seen if request.body]
    assert [(body["start"][:16], body["end"][:16]) for body in bodies] == [
        ("2099-12-01T09:01", "2099-12-01T12:01"),
        ("2099-12-01T09:06", "2099-12-01T12:06"),
    ]
    told = capsys.readouterr().err
    assert "The start has passed. Booked instead: 1 slot of gpu.large, Tue 2099-12-01 09:06" in told
    assert "faster" not in told


@pytest.mark.parametrize(
    ("minute", "hours", "start"),
    [(0, "23", "09:01"), (0, "24", "09:00"), (1, "24", "09:01")],
    ids=["next minute", "present minute", "a minute after the search"],
)
def test_earliest_starts_in_the_present_minute_if_it_would_end_too_late_otherwise(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch, minute: int, hours: str, start: str
) -> None:
    now = datetime.datetime(2099, 12, 1, 9, minute, 20, tzinfo=datetime.UTC)
    monkeypatch.setattr(base.Command, "now", lambda _: now)
    api.answers["GET /v2/offers"] = found(offer(1))
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    run(booking.CreateReservation, "--earliest", "--hours", hours)
    (body,) = [request.body for request in api.seen if request.body]
    assert body["start"][:16] == f"2099-12-01T{start}"


def test_earliest_without_an_offer_says_why_and_books_nothing(api: Api, run: Run) -> None:
    lacking = NotOffered(SMALL, FULL, offer(2, SMALL), None)
    api.answers["GET /v2/offers"] = found(missing=(lacking,))
    with pytest.raises(Failure) as refused:
        run(booking.CreateReservation, "small", "--earliest", "--hours", "3")
    assert str(refused.value).splitlines() == [
        "Nothing can be booked like that",
        "No small: too few slots are free. Possible: 2 slots from 2099-12-02 09:00 UTC",
    ]


def test_times_are_in_the_zone_of_the_user(
    api: Api, run: Run, run_json: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    api.answers["GET /v2/offers"] = found(offer(1))
    (row,) = run_json(offers.ListOffers)
    assert row["start"] == "2099-12-01T18:00:00+09:00"
    assert row["latest_end"] == "2099-12-02T18:00:00+09:00"
    said = run(booking.CreateReservation, "--earliest", "--hours", "3", "--dry-run")
    assert "18:00 +09:00 (Asia/Tokyo) to Tue 2099-12-01 21:00 +09:00 (Asia/Tokyo), 3 h" in said


def test_earliest_refuses_days_over_a_change_of_clocks(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    start = datetime.datetime(2099, 10, 24, 7)
    span = Span(start, start + datetime.timedelta(days=7))
    api.answers["GET /v2/offers"] = found(FlavorOffer(FLAVOR, span, 2))
    with pytest.raises(Failure) as refused:
        run(booking.CreateReservation, "--earliest", "--length", "1d12h")
    assert str(refused.value) == (
        "Clocks are changed between 2099-10-24 09:00 +02:00 and 2099-10-25 20:00 +01:00, so not "
        "each day has 24 hours. Give --hours 36:00 or --hours 37:00"
    )
    assert not [request for request in api.seen if request.body]


def test_dry_run_of_earliest_books_nothing(api: Api, run: Run) -> None:
    api.answers["GET /v2/offers"] = found(offer(1))
    assert "would book" in run(
        booking.CreateReservation, "gpu.large", "--earliest", "--hours", "3", "--dry-run"
    )
    assert not [request for request in api.seen if request.body]


@pytest.mark.parametrize(
    "given",
    [
        ["--earliest", "--end", "2099-12-01T09:00Z"],
        ["--hours", "3"],
        ["gpu.large", "--hours", "3", "--category", "gpu"],
    ],
)
def test_options_that_do_not_say_what_to_book_are_refused(run: Run, given: list[str]) -> None:
    with pytest.raises(Failure):
        run(booking.CreateReservation, *given)


def test_longest_extends_to_the_latest_end(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = reservation()
    where = f"/v2/reservations/{shown['id']}"
    api.answers[f"GET {where}"] = Answer(200, shown)
    document = {"latest_end": "2026-12-02T09:00:00+00:00", "stopped_by": "slots_exhausted"}
    api.answers[f"GET {where}/extensions"] = Answer(200, {**document, "extend_from": None})
    api.answers[f"PATCH {where}"] = Answer(200, shown)
    run(reservations.UpdateReservation, shown["id"], "--longest")
    (body,) = [request.body for request in api.seen if request.body]
    assert body == {"end": "2026-12-02T09:00:00+00:00"}
    assert "because too few slots are free" in capsys.readouterr().err


def test_longest_says_why_nothing_can_be_extended(api: Api, run: Run) -> None:
    shown = reservation()
    where = f"/v2/reservations/{shown['id']}"
    api.answers[f"GET {where}"] = Answer(200, shown)
    document = {"latest_end": shown["end"], "stopped_by": "too_early_to_extend"}
    later = "2026-12-01T10:00:00+00:00"
    api.answers[f"GET {where}/extensions"] = Answer(200, {**document, "extend_from": later})
    with pytest.raises(Failure, match=r"only in the last hours; try again from .*10:00"):
        run(reservations.UpdateReservation, shown["id"], "--longest")
    with pytest.raises(Failure, match="leave out"):
        run(reservations.UpdateReservation, shown["id"], "--longest", "--hours", "3")
