"""What all commands that list have in common."""

import argparse
import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api, flavor, listing, reservation
from tests.unit.cli.test_offers import found, offer
from warre_blazar.cli import (
    booking,
    calendar,
    calendar_addresses,
    flavor_access,
    flavors,
    groups,
    hosts,
    limits,
    maintenance_windows,
    offers,
    refusals,
    reservation_list,
    series,
    shares,
    usage,
    waits,
)
from warre_blazar.cli.failure import Failure

_USAGE = {"start": "2026-11-01T00:00:00Z", "end": "2026-12-01T00:00:00Z", "by": "user"}


@pytest.mark.parametrize(
    ("command", "path", "answer", "said"),
    [
        ((flavors.ListFlavors,), "flavors", listing(), "no flavors that you may book"),
        ((flavor_access.ListAccess,), "flavorprojects", listing(), "There are no accesses to"),
        ((reservation_list.ListReservations,), "reservations", listing(), "no reservations to"),
        ((series.ListSeries,), "series", listing(), "There are no series to list"),
        (
            (calendar_addresses.ListCalendars,),
            "calendars",
            listing(),
            "There are no calendars to list",
        ),
        ((shares.ListShares,), "shares", listing(), "There are no shares to list"),
        ((waits.ListWaits,), "waits", listing(), "Your project waits for nothing"),
        ((maintenance_windows.ListWindows,), "maintenancewindows", listing(), "no maintenance w"),
        ((hosts.ListHosts,), "hosts", listing(), "There are no hosts to list"),
        ((refusals.ListRefusals,), "refusals", listing(), "There are no refused requests to list"),
        ((limits.ShowLimits, "--all-projects"), "limits", listing(), "There are no limits to list"),
        ((offers.ListOffers,), "offers", found(), "There are no offers to list"),
        ((offers.ListAvailability,), "availability", listing(), "There are no flavors to list"),
        ((usage.ShowUsage, "--by", "user"), "usage", listing(**_USAGE), "Nothing was booked in"),
    ],
)
def test_empty_list_says_so(
    api: Api,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    command: tuple[Any, ...],
    path: str,
    answer: Answer,
    said: str,
) -> None:
    api.answers["GET /v2/flavors"] = listing()
    api.answers[f"GET /v2/{path}"] = answer
    assert run(*command) == ""
    assert said in capsys.readouterr().err
    assert run(*command, "-f", "json").strip() == "[]"
    assert said not in capsys.readouterr().err


#: The commands that choose flavors to look at.
CHOOSING = [
    flavors.ListFlavors,
    flavors.ListFreeSlots,
    calendar.ShowCalendar,
    offers.ListOffers,
    offers.ListAvailability,
]
_SIZES = {
    "--memory 8G": "memory_mb",
    "--memory-mb 8192": "memory_mb",
    "--disk 8T": "disk_gb",
    "--disk-gb 8192": "disk_gb",
}


def _parser(command: type) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = command(SimpleNamespace(), None).get_parser("it")
    return parser


@pytest.mark.parametrize("command", [*CHOOSING, booking.CreateReservation])
def test_flavors_are_chosen_by_the_same_sizes(command: type) -> None:
    for words, name in _SIZES.items():
        given = [*words.split(), "--vcpu", "4", "--hours", "1"]
        parsed, _ = _parser(command).parse_known_args(given)
        assert (getattr(parsed, name), parsed.vcpu) == (8192, 4)


@pytest.mark.parametrize("command", CHOOSING)
def test_flavors_are_named_in_the_same_way(command: type) -> None:
    assert _parser(command).parse_args(["gpu.a", "gpu.b"]).flavors == ["gpu.a", "gpu.b"]


@pytest.fixture
def two(api: Api) -> None:
    """Two flavors, of which the second one is larger."""
    large = flavor(id="66666666-6666-4666-8666-666666666666", name="gpu.huge", memory_mb=65536)
    api.answers["GET /v2/flavors"] = listing(flavor(), large)
    for each in (flavor(), large):
        api.answers[f"GET /v2/flavors/{each['name']}"] = Answer(200, each)
        for name in ("id", "name"):
            api.answers[f"GET /v2/flavors/{each[name]}/freeslots"] = Answer(200, [])


@pytest.mark.usefixtures("two")
def test_sizes_choose_flavors(run_json: Callable[..., Any], run: Run, api: Api) -> None:
    assert [row["name"] for row in run_json(flavors.ListFlavors, "--memory", "9G")] == ["gpu.huge"]
    assert [row["name"] for row in run_json(flavors.ListFlavors, "gpu.large")] == ["gpu.large"]
    rows = run_json(calendar.ShowCalendar, "--memory", "9G", "--days", "1")
    assert [row["flavor"] for row in rows] == ["gpu.huge"]
    run(flavors.ListFreeSlots, "--memory", "9G")
    assert api.seen[-1].path.startswith("/v2/flavors/gpu.huge/")


@pytest.mark.usefixtures("two")
def test_list_of_flavors_says_what_is_not_there(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Failure, match=r"no flavor 'gpu\.larg' that"):
        run(flavors.ListFlavors, "gpu.huge", "gpu.larg")
    with pytest.raises(Failure, match="not both"):
        run(flavors.ListFlavors, "gpu.huge", "--memory", "9G")
    assert run(flavors.ListFlavors, "--memory", "9T") == ""
    assert capsys.readouterr().err == "There are no flavors to list.\n"


@pytest.mark.usefixtures("two")
def test_offers_of_named_flavors(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/offers"] = found(offer(1), offer(2))
    assert len(run_json(offers.ListOffers, "gpu.large", "gpu.huge")) == 2
    assert "flavor" not in api.seen[-1].query
    run_json(offers.ListOffers, "gpu.large")
    assert api.seen[-1].query["flavor"] == "gpu.large"
    assert run_json(offers.ListOffers, "gpu.huge", "gpu.huge") == []


class _Known(list[Any]):
    """The commands that a command line knows."""

    namespace = "openstack.cli"


def test_group_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("reservation series create", "reservation series list", "reservation list")
    known = _Known((name, SimpleNamespace(value="warre_blazar.cli.x:X")) for name in names)
    known.append(
        ("reservation series", SimpleNamespace(value="warre_blazar.cli.groups:CommandGroup"))
    )
    app: Any = SimpleNamespace(NAME="openstack", command_manager=known, stdout=io.StringIO())
    group = groups.CommandGroup(app, None, cmd_name="reservation series")
    parser = group.get_parser("openstack reservation series")
    lines = ["  openstack reservation series create", "  openstack reservation series list"]
    assert parser.format_help().splitlines()[1:] == lines
    assert group.run(parser.parse_args(["lesson", "--more"])) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "openstack reservation series lesson --more isn't a command. There are:",
        *lines,
    ]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["book", "--help"], "openstack reservation create"),
        (["extend", "r"], "openstack reservation set RESERVATION --end +2h"),
        (["lst"], "openstack reservation list"),
    ],
)
def test_command_that_is_meant_stands_alone(
    capsys: pytest.CaptureFixture[str], words: list[str], meant: str
) -> None:
    names = ("reservation create", "reservation list", "reservation set", "reservation wait list")
    known = _Known((name, SimpleNamespace(value="warre_blazar.cli.x:X")) for name in names)
    app: Any = SimpleNamespace(NAME="openstack", command_manager=known, stdout=io.StringIO())
    group = groups.CommandGroup(app, None, cmd_name="reservation")
    parser = group.get_parser("openstack reservation")
    assert group.run(parser.parse_args(words)) == 2
    assert capsys.readouterr().err == (
        f"openstack reservation {' '.join(words)} isn't a command; is {meant} meant?\n"
    )


def test_list_by_a_part_of_a_name_says_that_names_are_exact(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    robotics = reservation(name="robotics")
    path = "GET /v2/reservations"
    api.answers[path] = [listing(), listing(robotics, robotics, reservation())]
    assert run(reservation_list.ListReservations, "--name", "robot") == ""
    said = capsys.readouterr().err
    assert said == "No reservation has exactly this name; similar names: 'robotics'.\n"
    assert [seen.query.get("name") for seen in api.seen] == ["robot", None]
    api.answers[path] = listing()
    assert run(reservation_list.ListReservations, "--name", "robot", "-f", "value") == ""
    assert capsys.readouterr().err == ""
