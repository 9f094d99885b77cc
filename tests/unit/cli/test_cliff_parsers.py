"""What is said about arguments that a command doesn't know."""

from types import SimpleNamespace

import pytest

from warre_blazar.cli import base, cliff_parsers, flavors, reservations


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        (reservations.CreateReservation, ["--strat", "now"], "is --start meant?"),
        (reservations.CreateReservation, ["--cuont=3"], "is --count meant?"),
        (reservations.CreateReservation, ["--instances", "3"], "is --count meant?"),
        (reservations.CreateReservation, ["13:00"], "in quotes, as in --start 'mon 9:00'"),
        (reservations.CreateReservation, ["--zzzz", "1"], "Unrecognized arguments: --zzzz 1"),
        (flavors.UpdateFlavor, ["--vcpu", "4"], "vcpu can't be changed"),
        (flavors.UpdateFlavor, ["--memory=4G"], "memory can't be changed"),
        (flavors.UpdateFlavor, ["--slot", "4"], "is --slots meant?"),
    ],
)
def test_unrecognized(command: type[base.Command], words: list[str], said: str) -> None:
    parser = command(SimpleNamespace(client_manager=None), None).get_parser("it")
    assert said in cliff_parsers.unrecognized(parser, words)


def test_refusal_names_the_help_that_helps(capsys: pytest.CaptureFixture[str]) -> None:
    for program, helps in (
        ("blazar flavor-update", "See blazar help flavor-update\n"),
        ("openstack reservation flavor set", "See openstack reservation flavor set --help\n"),
    ):
        parser = flavors.UpdateFlavor(SimpleNamespace(client_manager=None), None)
        with pytest.raises(SystemExit):
            parser.get_parser(program).parse_args(["f", "--vcpu", "4"])
        assert capsys.readouterr().err.endswith(helps)
