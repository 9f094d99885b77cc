"""Upgrades the dev cloud that is up, and prints a table. ``tools/test upgrade`` calls it."""

import argparse
import os
import pathlib
import sys
import threading
import time
from collections.abc import Mapping

from tests.functional.cloud.people import Person
from tests.torture import outages
from tests.torture.calm import Absences
from tests.torture.judge import Watch
from tests.torture.ledger import Ledger
from tests.torture.reading import Reader
from tests.torture.report import Report
from tests.torture.run import Run
from tests.upgrade.commands import Commands
from tests.upgrade.onlooker import MOST, Due, Onlooker
from tests.upgrade.rolling import Rolling
from tests.upgrade.standing import Standing, refusals
from tests.upgrade.versions import Site, Version

#: A line of the table: what, the figure, and what is wrong about it, in sentences.
Line = tuple[str, str, list[str]]


def run(home: pathlib.Path, old: Version, seed: int) -> bool:
    """Upgrade, and print the table. Return whether everything is as it should be."""
    layout = outages.layout(home)
    services, absences = outages.Services(layout), Absences()
    database = layout.database("blazar", charset="utf8")
    site = Site(layout, services, absences, old, Version("new", layout.venv))
    site.begin()
    people = [Person("alpha"), Person("beta")]
    standing = Standing(Person("admin"), people)
    refused = refusals(people[0], standing.flavor)
    onlooker = Onlooker()
    watch = Watch(onlooker, Ledger(), Reader(database))
    rolling = Rolling(site, standing, database, onlooker.resume)
    torture = Run(
        layout, services, absences, seed, lambda *_: rolling, lambda: site.current.programs
    )
    commands = Commands(old, standing.flavor)
    watch.start()
    try:
        standing.begin()
        commands.start()
        report = torture.run(0, threading.Event())
    finally:
        commands.stop()
        watch.stop()
    print("\n".join(["", *report.lines(), ""]), flush=True)
    lines: list[Line] = [
        ("reservations before", _numbers({**standing.numbers, "in all": standing.total}), []),
        ("steps", "\n".join(f"{name}: {seconds:.0f} s" for name, seconds in rolling.steps), []),
        ("the way back", rolling.back, []),
        _servers(onlooker),
        _due("starts", onlooker.starts),
        _due("ends", onlooker.ends),
        *_of_report(report),
        _answers(report, torture.answers.helpless),
        _commands(commands),
        ("reservations that nobody touched", "compared", standing.different()),
        (
            "unknown fields, refused by the old version",
            f"{sum(not wrong for _, wrong in refused)} of {len(refused)} paths",
            [wrong for _, wrong in refused if wrong],
        ),
    ]
    for line in table(lines):
        print(line)
    return not any(wrong for _, _, wrong in lines)


def _numbers(numbers: Mapping[str, int]) -> str:
    return "\n".join(f"{number} {what}" for what, number in numbers.items())


def _servers(onlooker: Onlooker) -> Line:
    figure = f"{len(onlooker.servers)} seen, {len(onlooker.lost)} lost"
    return "servers", figure, list(onlooker.lost.values())


def _due(what: str, due: Due) -> Line:
    late = due.late()
    figure = f"{len(due.done)} seen, {len(late)} later than {MOST:.0f} s, worst {due.worst():.0f} s"
    return what, figure, [f"{key} by {seconds:.0f} s" for key, seconds in late.items()]


def _of_report(report: Report) -> list[Line]:
    oversold = [text for text in report.violations if "oversold" in text]
    others = [text for text in report.violations if "oversold" not in text]
    looks = f"{report.looks['looks']} looks"
    return [
        ("oversold", f"{len(oversold)} in {looks}", oversold),
        ("other violations", f"{len(others)} in {looks}", [*others, *report.failures]),
        ("audit afterwards", "\n".join(report.audit), report.end),
    ]


def _answers(report: Report, helpless: Mapping[str, int]) -> Line:
    total = sum(sum(each.values()) for each in report.operations.values())
    without = sum(sum(n.values()) for name, n in report.errors.items() if ": none" in name)
    repeatable = sum(sum(n.values()) for n in report.errors.values()) - without
    repeatable -= sum(helpless.values())
    figure = (
        f"{total} in all, {repeatable} with 503 and Retry-After, {without} without an answer, "
        f"{sum(helpless.values())} with another 5xx"
    )
    return "answers", figure, [f"{name} x{number}" for name, number in helpless.items()]


def _commands(commands: Commands) -> Line:
    done = ", ".join(f"{verb} x{number}" for verb, number in commands.done.items())
    figure = f"{done}; {len(commands.put_off)} put off by an outage, {len(commands.wrong)} wrong"
    return "commands of the old version", figure, commands.wrong


def table(lines: list[Line]) -> list[str]:
    """The lines of the table, and below it what is wrong."""
    width = max(len(what) for what, _, _ in lines)
    printed = []
    for what, figure, wrong in lines:
        first, *more = figure.split("\n")
        printed.append(f"{what:{width}}  {first}{'  FAILED' if wrong else ''}")
        printed += [f"{'':{width}}  {line}" for line in more]
    printed += [f"FAILED: {what}: {text}" for what, _, wrong in lines for text in wrong]
    return printed


def main() -> int:
    """Run, and return the exit status: 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(prog="upgrade", description=__doc__)
    parser.add_argument("environment", type=pathlib.Path, help="that of the version before")
    parser.add_argument("--seed", type=int, default=1, help="of what users do (1)")
    parser.add_argument("--threads", type=int, help="of each process of its API")
    chosen = parser.parse_args()
    began = time.monotonic()
    home = pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"])
    passed = run(home, Version("old", chosen.environment, chosen.threads), chosen.seed)
    print(f"{time.monotonic() - began:.0f} s in all")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
