"""Runs the torture test on the dev cloud that is up; ``tools/torture`` sees to that."""

import argparse
import os
import pathlib
import signal
import sys
import threading
import time
from types import FrameType

from tests.torture import campaign, outages
from tests.torture.calm import Absences
from tests.torture.run import Run

#: The exit status of a program that Ctrl-C has ended.
_INTERRUPTED = 128 + signal.SIGINT


def main() -> int:
    """:returns: 0: nothing was found; 1: something was; 130: Ctrl-C came before it could tell."""
    if sys.argv[1:2] == ["campaign"]:
        return campaign.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="the same choices every time")
    parser.add_argument(
        "--keep", action="store_true", help="leave reservations, flavors and users of the test"
    )
    arguments = parser.parse_args()
    over, interrupted = threading.Event(), threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        print("ending; services are brought up again", flush=True)
        interrupted.set()
        over.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    home = pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"])
    its_layout = outages.layout(home)
    run = Run(its_layout, outages.Services(its_layout), Absences(), arguments.seed)
    report = run.run(arguments.minutes * 60, over, keep=arguments.keep)
    print("\n".join(["", *report.lines()]), flush=True)
    if not report.is_clean:
        return 1
    return _INTERRUPTED if interrupted.is_set() else 0


if __name__ == "__main__":
    started = time.monotonic()
    status = main()
    print(f"{time.monotonic() - started:.0f} s in all")
    sys.exit(status)
