"""What is said about arguments that a command doesn't know."""

from types import SimpleNamespace

import pytest

from tests.unit.cli.conftest import Run
from warre_blazar.cli import (
    audit,
    base,
    booking,
    calendar,
    cliff_parsers,
    flavor_access,
    flavors,
    hosts,
    limits,
    maintenance_windows,
    messages,
    offers,
    quotas,
    refusals,
    reservation_list,
    reservations,
    running,
    series,
    shares,
    usage,
    waits,
)
from warre_blazar.cli.failure import Failure


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        (booking.CreateReservation, ["--strat", "now"], "is --start meant?"),
        (booking.CreateReservation, ["--cuont=3"], "is --count meant?"),
        (booking.CreateReservation, ["--instances", "3"], "is --count meant?"),
        (booking.CreateReservation, ["--minutes", "30"], "is --length meant?"),
        (booking.CreateReservation, ["13:00"], "in quotes, as in --start 'mon 9:00'"),
        (booking.CreateReservation, ["--zzzz", "1"], "Unrecognized arguments: --zzzz 1"),
        (usage.ShowUsage, ["--stash", "1"], "Unrecognized arguments: --stash 1"),
        (booking.CreateReservation, ["--flavor", "gpu"], "write the FLAVOR without --flavor"),
        (waits.CreateWait, ["--bogus"], "Unrecognized arguments: --bogus"),
        (offers.ListAvailability, ["--hours", "3"], "reservation offers finds times of a length"),
        (reservations.UpdateReservation, ["--flavor", "f"], "flavor can't be changed"),
        (series.UpdateSeries, ["--start", "15:00"], "start can't be changed, so make another one"),
        (
            reservation_list.ListReservations,
            ["--series", "x"],
            "series show lists those",
        ),
        (reservations.UpdateReservation, ["--shift", "2"], "is --start meant?"),
        (flavors.UpdateFlavor, ["--vcpu", "4"], "vcpu can't be changed"),
        (flavors.UpdateFlavor, ["--memory=4G"], "memory can't be changed"),
        (flavors.UpdateFlavor, ["--slot", "4"], "is --slots meant?"),
        (flavors.UpdateFlavor, ["--no-end-date"], "is --no-end meant?"),
        (flavors.CreateFlavor, ["--vcpus", "1", "--ram"], "are --vcpu and --memory meant?"),
        (flavors.CreateFlavor, ["--project", "p"], "FLAVOR PROJECT lets a project book"),
        (flavor_access.GrantAccess, ["beta"], "give one PROJECT at a time, and put a value"),
        (maintenance_windows.UpdateWindow, ["--add-host", "cmp4"], "replace the present ones"),
    ],
)
def test_unrecognized(command: type[base.Command], words: list[str], said: str) -> None:
    parser = command(SimpleNamespace(client_manager=None), None).get_parser("it")
    message = cliff_parsers.unrecognized(parser, words)
    assert said in message
    assert ("meant" in said) == ("meant" in message)


def test_other_spelling_of_a_required_option_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    parser = flavors.CreateFlavor(SimpleNamespace(client_manager=None), None).get_parser("it")
    with pytest.raises(SystemExit):
        parser.parse_args(["gpu", "--vcpus", "4", "--ram", "2G"])
    assert "--vcpus --ram; are --vcpu and --memory meant?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parser.parse_args(["gpu", "--vcpu", "4", "--ram", "2G"])
    assert "--ram; is --memory meant?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        parser.parse_args(["gpu", "--vcpu", "4", "--memory", "2G"])
    assert "are required: --slots" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "line", "said"),
    [
        (
            maintenance_windows.CreateWindow,
            "f --start now --hours 2 --weekly --count 4",
            "run this one again for each --start",
        ),
        (usage.ShowUsage, "--month 2026-11", "--from 2026-11-01 --to 2026-12-01"),
        (usage.ShowUsage, "--group-by project", "is --by meant?"),
        (usage.ShowUsage, "--by-project -f csv", "is --by project meant?"),
        (
            booking.CreateReservation,
            "f --user ada --project p --start now --hours 4",
            "--project alone books for another project",
        ),
        (booking.CreateReservation, "f --start now --for 8h", "is --hours 8h meant?"),
        (booking.CreateReservation, "f --start now --for=3", "is --hours 3 meant?"),
        (booking.CreateReservation, "f --start now --hours 2 --slots 2", "is --count meant?"),
        (
            booking.CreateReservation,
            "f --start now --hours 2 --notify me@a.org",
            "is --contact meant?",
        ),
        (
            reservations.UpdateReservation,
            "r --project alpha --extend 2h",
            "; give the ID, which openstack reservation list --project alpha shows; is --end +2h",
        ),
        (reservations.UpdateReservation, "r --extend 4h", "is --end +4h meant?"),
        (reservations.UpdateReservation, "r --slots 2", "is --count meant?"),
        (
            reservations.UpdateReservation,
            "r s --note hi",
            "; give one RESERVATION at a time, and put a value",
        ),
        (
            reservations.DeleteReservation,
            "r --project alpha",
            "openstack reservation list --project alpha shows",
        ),
        (refusals.ListRefusals, "--reason slots_exhausted", "is --code meant?"),
        (
            refusals.ListRefusals,
            "--all-projects --by project",
            "openstack reservation usage --by project counts them",
        ),
        (audit.ListDifferences, "--kind notices-lost", "-f csv | grep notices-lost"),
        (
            reservation_list.ListReservations,
            "--category gpu",
            "give one --flavor; openstack reservation flavor list --category gpu lists",
        ),
        (reservation_list.ListReservations, "--missing", "-c id -c name -c missing_resources"),
        (reservation_list.ListReservations, "--days 7", "is --to +7d meant?"),
        (limits.ShowLimits, "--all-projects --near 80", "--all-projects --sort-column left"),
        (hosts.ListHosts, "--all", "all hosts are shown"),
        (
            offers.ListAvailability,
            "--category gpu --from tomorrow --days 3",
            "is --to +3d meant?",
        ),
        (
            maintenance_windows.CreateWindow,
            "--all-hosts --start now --hours 1",
            'is --host "$(openstack reservation host status -f value -c host | paste -sd ,)"',
        ),
        (
            maintenance_windows.CreateWindow,
            "--host cmp1 --start now --hours 1 --preview",
            "is --bookings show meant?",
        ),
        (maintenance_windows.ListWindows, "--past", "windows that are over are listed too"),
        (flavors.CreateFlavor, "f --vcpu 1 --price 0.5", "flavors have no price"),
        (flavors.UpdateFlavor, "f --price 2", "flavors have no price"),
        (flavors.ShowFlavor, "f --limits", "-c limits shows them alone"),
        (flavors.UpdateFlavor, "f g --slots 4", "; give one FLAVOR at a time, and put a value"),
        (
            messages.SetMessages,
            "--project alpha --disable",
            "; these are your own messages; other users set theirs themselves; is --off meant?",
        ),
        (messages.ShowMessages, "alpha", "; this command takes no names; put"),
        (
            waits.CreateWait,
            "f --hours 4 --earliest 9:00 --latest 16:00",
            "are --start 9:00 and --end 16:00 meant?",
        ),
        (
            series.CreateSeries,
            "f --start now --hours 2 --repeat weekly --times 6",
            "such as --rrule 'FREQ=WEEKLY;COUNT=6'",
        ),
        (
            series.CreateSeries,
            "f --start now --hours 2 --weekly --until 2027-01-26",
            "'FREQ=WEEKLY;UNTIL=20270126'",
        ),
        (
            series.CreateSeries,
            "f --start now --hours 2 --rrule R --exdate 2026-12-24",
            "is --except meant?",
        ),
        (series.ExtendSeries, "s --count 2", "is --more 2 meant?"),
        (series.ExtendSeries, "s --times 2", "is --more 2 meant?"),
        (
            series.DeleteSeries,
            "s --from 2027-01-01",
            "which openstack reservation list --from 2027-01-01 shows",
        ),
    ],
)
def test_words_that_people_type_are_answered_with_what_works(
    capsys: pytest.CaptureFixture[str], command: type[base.Command], line: str, said: str
) -> None:
    parser = command(SimpleNamespace(client_manager=None), None).get_parser("it")
    with pytest.raises(SystemExit):
        parser.parse_args(line.split())
    first, helps = capsys.readouterr().err.splitlines()
    assert said in first and helps == "See it --help"


def test_words_of_another_program_are_left_alone() -> None:
    parser = running.RunCommand(SimpleNamespace(client_manager=None), None).get_parser("it")
    parsed = parser.parse_args(["r", "--", "openstack", "--for", "8h"])
    assert parsed.command[-2:] == ["--for", "8h"]


@pytest.mark.parametrize(
    ("command", "words", "option"),
    [
        (limits.ShowLimits, ["--project", "alpha", "--project", "beta"], "--project"),
        (booking.CreateReservation, ["f", "--start", "now", "--from=now"], "--start"),
    ],
)
def test_option_that_is_given_twice_is_refused(
    capsys: pytest.CaptureFixture[str], command: type[base.Command], words: list[str], option: str
) -> None:
    parser = command(SimpleNamespace(client_manager=None), None).get_parser("it")
    for _ in range(2):  # A parser can be used again.
        with pytest.raises(SystemExit):
            parser.parse_args(words)
        said = capsys.readouterr().err
        assert option in said and ": it is given twice; give one value at a time\n" in said


@pytest.mark.parametrize(
    ("start", "options"),
    [
        ("tomorrow 9-17", "--start 'tomorrow 9:00' --end 17:00"),
        ("7 dec 9:30 to 12", "--start '7 dec 9:30' --end 12:00"),
        ("2026-12-07", None),
        ("2026-12-07 9:00", None),
    ],
)
def test_period_in_one_option_is_refused_with_two(
    capsys: pytest.CaptureFixture[str], start: str, options: str | None
) -> None:
    parser = booking.CreateReservation(SimpleNamespace(client_manager=None), None).get_parser("it")
    with pytest.raises(SystemExit):
        parser.parse_args(["gpu", "--start", start])
    said = capsys.readouterr().err.splitlines()[0]
    assert said.endswith(f"; write a period as {options}" if options else "is required")


def test_name_of_an_argument_is_no_start_of_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    parser = shares.CreateShare(SimpleNamespace(client_manager=None), None).get_parser("it")
    with pytest.raises(SystemExit):
        parser.parse_args(["week", "--project", "beta"])
    assert "write the PROJECT without --project" in capsys.readouterr().err


def test_refusal_names_the_help_that_helps(capsys: pytest.CaptureFixture[str]) -> None:
    for program, helps in (
        ("blazar flavor-update", "See blazar help flavor-update\n"),
        ("openstack reservation flavor set", "See openstack reservation flavor set --help\n"),
    ):
        parser = flavors.UpdateFlavor(SimpleNamespace(client_manager=None), None)
        with pytest.raises(SystemExit):
            parser.get_parser(program).parse_args(["f", "--vcpu", "4"])
        assert capsys.readouterr().err.endswith(helps)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (booking.CreateReservation, ["--hours", "3"]),
        (booking.CreateReservation, ["--earliest", "--end", "2099-12-01T09:00Z"]),
        (reservations.UpdateReservation, ["r"]),
        (reservations.UpdateReservation, ["r", "--longest", "--count", "2"]),
        (waits.CreateWait, ["--hours", "3"]),
        (waits.CreateWait, ["f"]),
        (flavors.UpdateFlavor, ["f"]),
        (flavors.ListFreeSlots, ["f", "--category", "gpu"]),
        (maintenance_windows.UpdateWindow, ["w"]),
        (quotas.SetQuota, ["p"]),
    ],
)
def test_options_that_do_not_fit_together_end_with_the_help(
    run: Run, command: type[base.Command], words: list[str]
) -> None:
    with pytest.raises(Failure) as refused:
        run(command, *words)
    assert str(refused.value).splitlines()[1:] == ["See it --help"]


@pytest.mark.parametrize(
    ("command", "words", "names"),
    [
        (booking.CreateReservation, ["f", "--from", "a", "--to", "b"], ("start", "end")),
        (calendar.ShowCalendar, ["--from", "a"], ("start",)),
        (offers.ListOffers, ["--from", "a", "--to", "b"], ("start", "end")),
        (reservation_list.ListReservations, ["--start", "a", "--end", "b"], ("since", "until")),
        (usage.ShowUsage, ["--start", "a", "--end", "b"], ("since", "until")),
    ],
)
def test_both_names_of_a_range_work(
    command: type[base.Command], words: list[str], names: tuple[str, ...]
) -> None:
    parser = command(SimpleNamespace(client_manager=None), None).get_parser("it")
    parsed = parser.parse_args(words)
    assert [getattr(parsed, name) for name in names] == ["a", "b"][: len(names)]


@pytest.mark.parametrize(
    "command", [booking.CreateReservation, offers.ListOffers, flavors.ListFreeSlots]
)
@pytest.mark.parametrize(
    "words",
    [["--days", "3"], ["--length", "3d"], ["--length", "3 days"], ["--hours", "72"]],
)
def test_lengths_are_given_in_the_same_ways(command: type[base.Command], words: list[str]) -> None:
    parser = command(SimpleNamespace(client_manager=None), None).get_parser("it")
    assert parser.parse_args(words).hours.total_seconds() == 72 * 3600
