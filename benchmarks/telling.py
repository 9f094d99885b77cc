#!/usr/bin/env python3
"""What telling costs: bookings and deletions with everything told, against nothing told.

Run on a quiet dev cloud (``eval "$(tools/devcloud env)"`` first) with hosts registered. Runs rounds
in turn with everything on (notifications, Warre's notifications, mail and the log, samples of usage
every 15 seconds) and with all of that off, and restarts Blazar's managers and API between them. So
whatever else the machine does meanwhile strikes both alike. Prints the medians of all single
requests, and the ratio of on to off. Puts the configuration back in the end.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
from collections.abc import Iterator, Mapping

import figures
import lease

_TOOL = pathlib.Path(__file__).resolve().parents[1] / "tools" / "devcloud"
#: Blazar's API and its managers.
_SERVICES = "blazar-*"
#: The options of [warre] of each mode.
MODES: Mapping[str, Mapping[str, str]] = {
    "on": {
        "emit_notifications": "true",
        "emit_warre_notifications": "true",
        "messengers": "smtp,log",
        "usage_interval": "15",
    },
    "off": {
        "emit_notifications": "false",
        "emit_warre_notifications": "false",
        "messengers": "",
        "usage_interval": "0",
    },
}
_ACTIONS = ("create", "delete")


@contextlib.contextmanager
def configured(options: Mapping[str, str]) -> Iterator[None]:
    """Run Blazar with other options of [warre] while the block runs."""
    path = pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"]) / "etc/blazar/blazar.conf"
    usual = path.read_text()
    lines = [f"{name} = {value}" for name, value in options.items()]
    # Of several values, the last one counts.
    path.write_text("\n".join([usual, "[warre]", *lines, ""]))
    try:
        _restart()
        yield
    finally:
        path.write_text(usual)


def _restart() -> None:
    subprocess.run([_TOOL, "restart", _SERVICES], check=True, stdout=subprocess.DEVNULL)


def measured(cloud: lease.Cloud, flavor: str, warm: int, runs: int) -> dict[str, list[float]]:
    """The milliseconds of bookings and deletions, by action.

    :param warm: so many bookings before those that are measured.
    """
    start, end = lease.times_ahead()[0]
    times: dict[str, list[float]] = {action: [] for action in _ACTIONS}
    for run in range(-warm, runs):
        create, url = lease.seconds(lambda: cloud.book(flavor, start, end))
        delete, _ = lease.seconds(lambda url=url: cloud.call("DELETE", url))
        if run >= 0:
            times["create"].append(create * 1000)
            times["delete"].append(delete * 1000)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="of each mode")
    parser.add_argument("--runs", type=int, default=40, help="in each round")
    parser.add_argument("--warm", type=int, default=16, help="before each round")
    asked = parser.parse_args()
    cloud = lease.Cloud()
    flavor = cloud.flavor()
    times: dict[str, dict[str, list[float]]] = {
        mode: {action: [] for action in _ACTIONS} for mode in MODES
    }
    try:
        for number in range(asked.rounds):
            # In another order each time, so that no mode always comes first.
            for mode in sorted(MODES, reverse=bool(number % 2)):
                with configured(MODES[mode]):
                    found = measured(cloud, flavor, asked.warm, asked.runs)
                for action, values in found.items():
                    times[mode][action] += values
                shown = ", ".join(f"{a} {statistics.median(v):.0f} ms" for a, v in found.items())
                print(f"round {number + 1}, {mode:3}: {shown}", flush=True)
    finally:
        _restart()
    named = {"runs": str(asked.rounds * asked.runs)}
    for action in _ACTIONS:
        on, off = (statistics.median(times[mode][action]) for mode in ("on", "off"))
        print(f"{action}: on {on:.1f} ms, off {off:.1f} ms, on / off = {on / off:.3f}")
        named[f"{action}.on"] = figures.milliseconds(on)
        named[f"{action}.off"] = figures.milliseconds(off)
        named[f"{action}.ratio"] = f"{on / off:.2f}"
    cloud.call("DELETE", f"{cloud.v2}/flavors/{flavor}/")
    figures.record("telling", named)


if __name__ == "__main__":
    main()
