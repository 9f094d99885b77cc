"""Output in the formats that programs read: all of it can be parsed, and no value is a sentence."""

import datetime
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.fakes.service import Answer
from tests.unit.cli import (
    test_flavors,
    test_hosts,
    test_offers,
    test_operators,
    test_series,
    test_waits,
)
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import (
    FLAVOR,
    RESERVATION,
    Api,
    error,
    flavor,
    foreseen,
    listing,
    reservation,
)
from warre_blazar.cli import (
    base,
    booking,
    calendar,
    flavor_access,
    flavors,
    hosts,
    maintenance_windows,
    messages,
    reservation_list,
    reservations,
    series,
    waits,
)
from warre_blazar.cli.failure import Failure

_PATH = f"/v2/reservations/{RESERVATION.id}"
_EXACT = ("--start", "2026-12-01T09:00Z", "--hours", "2")
_SPAN = {"start": "2026-12-14T08:00:00+00:00", "end": "2026-12-14T10:00:00+00:00"}
#: The same in the zone of the series.
_LOCAL = {"start": "2026-12-14T09:00:00+01:00", "end": "2026-12-14T11:00:00+01:00"}
_MET = {
    **{name: reservation()[name] for name in ("id", "flavor", "instance_count", "project_id")},
    **_SPAN,
    **{"outcome": "moved", "reason": None, "new_start": None, "new_end": None},
}

#: The command with its arguments, and a field and its value that the output has.
CASES: dict[str, tuple[type[base.Command], tuple[str, ...], str, Any]] = {
    "booking": (booking.CreateReservation, ("f", *_EXACT), "instance_count", 1),
    "earliest": (
        booking.CreateReservation,
        ("gpu.large", "--earliest", "--hours", "3"),
        "flavor",
        "gpu.large",
    ),
    "change": (reservations.UpdateReservation, (RESERVATION.id, "--count", "1"), "bookable", True),
    "window": (
        maintenance_windows.CreateWindow,
        ("gpu.large", "--bookings", "move", *_EXACT),
        "reservations",
        [_MET],
    ),
    "changed window": (
        maintenance_windows.UpdateWindow,
        (test_operators.WINDOW["id"], "--bookings", "move"),
        "reservations",
        [_MET],
    ),
    "wait": (waits.CreateWait, ("gpu.large", "--hours", "24"), "position", 3),
    "series": (series.CreateSeries, tuple(test_series.WORDS), "occurrences", [_LOCAL]),
    "flavor": (flavors.CreateFlavor, ("f", *test_flavors.NEEDED), "name", "f"),
    "changed flavor": (flavors.UpdateFlavor, ("gpu.large", "--slots", "3"), "name", "gpu.large"),
    "access": (flavor_access.GrantAccess, ("gpu.large", "5" * 32), "project_id", "5" * 32),
    "messages": (messages.SetMessages, ("--off",), "enabled", False),
}


@pytest.fixture(autouse=True)
def answered(api: Api) -> None:
    """An API that foresees all that the cases ask."""
    nothing_refused = {"bookable": True, "occurrences": [_SPAN], "refused": []}
    window = {**test_operators.WINDOW, "reservations": [_MET]}
    api.answers |= {
        "POST /v2/reservations": foreseen(),
        "GET /v2/offers": test_offers.found(test_offers.offer(1)),
        f"GET {_PATH}": Answer(200, reservation()),
        f"PATCH {_PATH}": foreseen(),
        "POST /v2/maintenancewindows": Answer(200, window),
        f"GET /v2/maintenancewindows/{window['id']}": Answer(200, test_operators.WINDOW),
        f"PATCH /v2/maintenancewindows/{window['id']}": Answer(200, window),
        f"PATCH /v2/flavors/{FLAVOR.id}": Answer(200, flavor()),
        "POST /v2/waits": Answer(200, test_waits.WAIT),
        "POST /v2/series": Answer(200, nothing_refused),
        "POST /v2/flavors": Answer(200, flavor(name="f", bookable=False, warnings=[])),
        "GET /v2/flavors": listing(flavor()),
        "GET /v2/flavors/gpu.large": Answer(200, flavor()),
        "GET /v2/flavorprojects": listing(),
    }


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("case", CASES)
def test_output_is_a_document(run: Run, case: str, form: str) -> None:
    command, words, name, value = CASES[case]
    parse: Callable[[str], Any] = {"json": json.loads, "yaml": yaml.safe_load}[form]
    document = parse(run(command, *words, "--dry-run", "-f", form))
    assert document[name] == value
    assert document["would"]


@pytest.mark.parametrize("case", ["booking", "change", "series"])
def test_refused_dry_run_prints_what_the_api_foresees(api: Api, run: Run, case: str) -> None:
    refused = foreseen(("slots_exhausted", "No", {}), next_start=datetime.datetime(2026, 12, 2, 9))
    nothing = {"bookable": False, "occurrences": [_SPAN], "refused": [test_series.REFUSED]}
    api.answers |= {
        "POST /v2/reservations": refused,
        f"PATCH {_PATH}": refused,
        "POST /v2/series": Answer(200, nothing),
    }
    command, words, *_ = CASES[case]
    stdout = io.StringIO()
    with pytest.raises(Failure):
        run(command, *words, "--dry-run", "-f", "json", stdout=stdout)
    document = json.loads(stdout.getvalue())
    assert document["would"] is None
    if case == "series":
        assert document["refused"][0]["code"] == test_series.REFUSED["code"]
    else:
        assert [refusal["code"] for refusal in document["refusals"]] == ["slots_exhausted"]
        assert (document["bookable"], document["next_start"]) == (
            False,
            "2026-12-02T09:00:00+00:00",
        )


@pytest.mark.parametrize("case", CASES)
def test_single_values_can_be_printed(run: Run, case: str) -> None:
    command, words, name, _ = CASES[case]
    lines = run(command, *words, "--dry-run", "-f", "value", "-c", name).splitlines()
    assert len(lines) == 1
    assert not lines[0].startswith("Dry run")


@pytest.mark.parametrize("case", CASES)
def test_table_has_the_columns_that_are_named(run: Run, case: str) -> None:
    command, words, name, _ = CASES[case]
    lines = run(command, *words, "--dry-run", "-c", name).splitlines()
    assert not any("Dry run" in line for line in lines)
    names = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert [each for each in names if each] == ["Field", name]


@pytest.mark.parametrize("case", ["changed window", "changed flavor"])
def test_columns_of_a_changed_object(api: Api, run: Run, case: str) -> None:
    api.answers["PATCH /v2/flavors/gpu.large"] = Answer(200, flavor())
    command, words, *_ = CASES[case]
    shown = run(command, *words, "-c", "start", "-c", "end")
    assert [line.split("|")[1].strip() for line in shown.splitlines() if "|" in line] == [
        *("Field", "start", "end")
    ]


@pytest.mark.parametrize("case", ["changed window", "changed flavor"])
def test_changed_object_is_a_document_too(api: Api, run: Run, case: str) -> None:
    api.answers["PATCH /v2/flavors/gpu.large"] = Answer(200, flavor())
    command, words, name, value = CASES[case]
    document = json.loads(run(command, *words, "-f", "json"))
    assert document[name] == value
    assert "would" not in document


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (flavors.DeleteFlavor, ["f"]),
        (reservations.DeleteReservation, [RESERVATION.id]),
        (maintenance_windows.DeleteWindow, ["w"]),
        (waits.DeleteWait, ["w"]),
        (series.DeleteSeries, ["s"]),
        (flavor_access.RevokeAccess, ["f", "p"]),
    ],
)
def test_command_that_only_deletes_says_that_it_has_no_formats(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    command: type[base.Command],
    words: list[str],
) -> None:
    with pytest.raises(SystemExit):
        run(command, *words, "-f", "json")
    assert "prints no document, and its exit status says" in capsys.readouterr().err
    assert not api.seen


def test_code_of_a_refusal_is_the_last_line_for_programs(api: Api, run: Run) -> None:
    full = error(400, "No capacity", "slots_exhausted", asked=3, free=1, slots=4)
    refused = foreseen(("slots_exhausted", "No", {}))
    window_is_booked = error(409, "booked", "window_conflict", reservations=[], total=0)
    create = "POST /v2/reservations"
    for command, words, answers, code in (
        (booking.CreateReservation, ["f", *_EXACT], {create: [full, refused]}, "slots_ex"),
        (
            booking.CreateReservation,
            ["f", *_EXACT, "--dry-run"],
            {create: refused},
            "slots_ex",
        ),
        (
            reservations.UpdateReservation,
            [RESERVATION.id, "--count", "3"],
            {f"PATCH {_PATH}": [full, refused]},
            "slots_ex",
        ),
        (
            maintenance_windows.CreateWindow,
            ["gpu.large", *_EXACT],
            {"POST /v2/maintenancewindows": window_is_booked},
            "window_conflict",
        ),
    ):
        api.answers |= answers
        with pytest.raises(Failure) as caught:
            run(command, *words, "-f", "json", stdout=io.StringIO())
        *_, last = str(caught.value).splitlines()
        assert last.startswith(f"Code: {code}")


@pytest.mark.parametrize("more", [(), ("-c", "status")])
def test_people_see_no_code(api: Api, run: Run, more: tuple[str, ...]) -> None:
    api.answers["POST /v2/waits"] = error(409, "No more", "too_many_waits")
    with pytest.raises(Failure) as caught:
        run(waits.CreateWait, "gpu.large", "--hours", "24", *more)
    assert "Code" not in str(caught.value)


def test_refusal_is_said_whatever_columns_are_named(api: Api, run: Run) -> None:
    api.answers["POST /v2/reservations"] = foreseen(("slots_exhausted", "No", {}))
    with pytest.raises(Failure, match="No"):
        run(booking.CreateReservation, "f", *_EXACT, "--dry-run", "-c", "compute_flavor")


def test_failure_that_the_api_has_not_refused_has_no_code(run: Run) -> None:
    with pytest.raises(Failure) as caught:
        run(waits.CreateWait, "gpu.large", "-f", "json")
    assert "--hours" in str(caught.value) and "Code" not in str(caught.value)


_SHOWS: dict[str, tuple[type[base.Command], tuple[str, ...]]] = {
    "reservation": (reservations.ShowReservation, (RESERVATION.id, "--changes", "--hosts")),
    "booking": (booking.CreateReservation, ("f", *_EXACT)),
    "reservations": (reservation_list.ListReservations, ("--long",)),
    "flavor": (flavors.ShowFlavor, ("gpu.large",)),
    "window": (maintenance_windows.ShowWindow, (test_operators.WINDOW["id"],)),
    "new window": (maintenance_windows.CreateWindow, ("gpu.large", "--bookings", "move", *_EXACT)),
    "wait": (waits.ShowWait, (test_waits.WAIT["id"],)),
    "series": (series.ShowSeries, (test_series.ID,)),
    "new series": (series.CreateSeries, tuple(test_series.WORDS)),
    "hosts": (hosts.ListHosts, ("--long",)),
    "reservations on hosts": (hosts.ListHosts, ("--reservations",)),
    "bookings": (calendar.ShowCalendar, ("gpu.large", "--bookings")),
}


def _texts(value: Any) -> Iterator[str]:
    """All texts in a document."""
    if isinstance(value, dict):
        value = list(value.values())
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict | list):
            yield from _texts(each)
        elif isinstance(each, str):
            yield each


@pytest.mark.parametrize("case", _SHOWS)
def test_no_text_for_programs_has_an_id_in_it(api: Api, run: Run, case: str) -> None:
    change = {"at": "2026-11-01T00:00:00+00:00", "user_id": "u", "change": "created"}
    log = [{**change, "before": None, "after": {"flavor": FLAVOR.id}}]
    doubt = {"code": "nova_quota", "message": f"Too little for {RESERVATION.id}", "detail": {}}
    booked = reservation(log=log, warnings=[doubt])
    api.answers |= {
        f"GET {_PATH}": Answer(200, booked),
        "POST /v2/reservations": Answer(200, booked),
        "GET /v2/reservations": listing(booked),
        f"GET /v2/waits/{test_waits.WAIT['id']}": Answer(200, test_waits.WAIT),
        f"GET /v2/series/{test_series.ID}": Answer(200, test_series.document()),
        "POST /v2/series": Answer(200, test_series.document(refused=[test_series.REFUSED])),
        "GET /v2/hosts": listing(test_hosts.DRAINED),
    }
    command, words = _SHOWS[case]
    printed = json.loads(run(command, *words, "-f", "json"))
    an_id = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
    said = [text for text in _texts(printed) if an_id.search(text) and not an_id.fullmatch(text)]
    assert set(said) <= {doubt["message"]}
    assert printed
