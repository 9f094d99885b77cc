"""The command that runs a program while a reservation is running."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from warre_blazar.cli import (
    arguments,
    base,
    reservation_options,
    time_display,
    times,
    wait_progress,
)
from warre_blazar.cli.base import Failure
from warre_blazar.client import Reservation, errors

#: What shells return for a program that they can't find, can't run, and that a signal has ended.
_NOT_FOUND, _NOT_RUN, _ENDED_BY = 127, 126, 128
#: Signals that are passed on to the program. A terminal itself sends the second ones to it too.
_SIGNALS = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_OF_TERMINAL = ("SIGINT", "SIGQUIT")


class RunCommand(base.OneCommand):
    """Wait until a reservation runs, and then run a command.

    The command finds the reservation in its environment: FLAVOR_ID is the Nova flavor to boot
    servers on. Before the end, a warning is printed. The exit status is that of the command, and
    signals are passed on to it. The reservation stays when the command is over.
    """

    noun = argument = "reservation"
    nouns = "reservations"
    ref = reservation_options.REF

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--warn",
            metavar="MINUTES",
            type=arguments.count,
            default=times.WARNS_AHEAD_MINUTES,
            help="print a warning so many minutes before the end (default: "
            f"{times.WARNS_AHEAD_MINUTES})",
        )
        parser.add_argument(
            "command",
            metavar="COMMAND",
            nargs="+",
            help="command to run, with its arguments; put -- before it",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        self.tell(f"Waiting for reservation {parsed_args.reservation}")
        with wait_progress.reporting(self.now, self.where) as report:
            reservation = self.v2.reservations.wait(parsed_args.reservation, tell=report)
        self.app.stdout.flush()
        words = parsed_args.command
        try:
            # The user's own command, without a shell.
            child = subprocess.Popen(words, env={**os.environ, **environment(reservation)})  # noqa: S603
        except OSError as error:
            self.tell(f"{words[0]}: {error.strerror}")
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUN
        with _passed_on_to(child):
            status = self._watch(child, reservation, parsed_args.warn * 60)
        return status if status >= 0 else _ENDED_BY - status

    def _watch(
        self, child: "subprocess.Popen[bytes]", reservation: Reservation, ahead: float
    ) -> int:
        """Warn before the end of the reservation, and return the exit status of the program.

        :param ahead: the seconds before the end at which to warn. Somebody may change the end
            meanwhile, so the reservation is read again now and then.
        """
        told = ""
        while True:
            left = (reservation.end - self.now()).total_seconds()
            news = ""
            nap: float | None = min(left - ahead, times.RUN_LOOKS_AGAIN)
            if left <= 0:
                news, nap = "has ended; its servers are deleted", None
            elif left <= ahead:
                news = f"ends {time_display.brief(reservation.end, self.where)}"
                nap = min(left, times.RUN_LOOKS_AGAIN)
            if news and news != told:
                self.tell(f"Reservation {reservation.id} {news}.")
            told = news
            try:
                return child.wait(nap)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(errors.ClientError, Failure):
                    reservation = self.v2.reservations.get(reservation.id)


def environment(reservation: Reservation) -> Mapping[str, str]:
    """What a program finds in its environment about a running reservation. Times are in UTC."""
    zone = reservation.availability_zone or ""
    return {
        "FLAVOR_ID": reservation.compute_flavor or "",
        "RESERVATION_ID": reservation.id,
        "RESERVATION_START": reservation.start.isoformat(),
        "RESERVATION_END": reservation.end.isoformat(),
        "INSTANCE_COUNT": str(reservation.instance_count),
        # Servers may be in any of several zones, and Nova takes only one.
        "AVAILABILITY_ZONE": "" if "," in zone else zone,
    }


@contextlib.contextmanager
def _passed_on_to(child: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Pass signals on to a program while the block runs."""

    def pass_on(number: int, _: Any) -> None:
        child.send_signal(number)

    def leave(_: int, __: Any) -> None:
        """The terminal has sent the signal to the program too."""

    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    handlers: dict[str, Callable[[int, Any], None]] = dict.fromkeys(_SIGNALS, pass_on)
    handlers |= dict.fromkeys(_OF_TERMINAL, leave if at_terminal else pass_on)
    before = {
        number: signal.signal(number, handler)
        for name, handler in handlers.items()
        if (number := getattr(signal, name, None)) is not None
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
