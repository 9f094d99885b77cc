"""``python -m tests.explorer``: see ``tools/explore``."""

import argparse
import contextlib
import gc
import itertools
import logging
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Sequence

from tests.explorer.defects import DEFECTS
from tests.explorer.exploring import Explorer, all_pairs
from tests.explorer.operations import OPERATIONS
from tests.explorer.report import Report
from tests.explorer.runs import Runner
from tests.explorer.world import MOVES_PER_BOOKING, World
from tests.explorer.year import Year
from tests.explorer.year_judge import Broken
from tests.functional.db import databases

#: A directory in memory, if there is one.
_MEMORY = pathlib.Path("/dev/shm")
#: After how many new objects Python looks for cycles among the youngest ones. With its default of
#: 700, looking takes a sixth of a run.
_YOUNG = 50_000


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/explore", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--singles", action="store_true", help="each operation, with each fault")
    what.add_argument("--pairs", action="store_true", help="two operations, without faults")
    what.add_argument("--pairs-with-fault", action="store_true", help="two, with a fault")
    what.add_argument("--walk", metavar="SEED", type=int, help="three and more at random")
    what.add_argument(
        "--defects", action="store_true", help="put known defects back, and find each of them"
    )
    what.add_argument("--replay", metavar="SCHEDULE", help="run a schedule again, step by step")
    what.add_argument("--year", metavar="SEED", type=int, help="a year of a busy site, judged")
    parser.add_argument("--days", type=int, default=365, help="of a year")
    parser.add_argument("--database", choices=databases.KINDS, default="sqlite")
    parser.add_argument("--minutes", type=float, help="end after this time")
    parser.add_argument("--budget", type=int, metavar="RUNS", help="at most so many for a pair")
    parser.add_argument("--seed", type=int, default=1, help="of pairs with a fault")
    parser.add_argument("--share", type=int, default=10, help="pairs with a fault: for each pair")
    parser.add_argument(
        "--part", type=_part, default=slice(None), metavar="K/N", help="only the Kth of N parts"
    )
    parser.add_argument("--only", metavar="OPERATION", nargs="+", help="only these operations")
    return parser.parse_args(words)


def _part(text: str) -> slice:
    number, of = map(int, text.split("/"))
    if not 1 <= number <= of:
        raise ValueError(text)
    return slice(number - 1, None, of)


def _explore(explorer: Explorer, chosen: argparse.Namespace) -> None:
    names = chosen.only or list(OPERATIONS)
    pairs = list(all_pairs(names))[chosen.part]
    names = names[chosen.part]
    if chosen.singles:
        explorer.singles(names)
    elif chosen.pairs:
        explorer.pairs(pairs)
    elif chosen.pairs_with_fault:
        explorer.pairs_with_fault(pairs, chosen.seed, chosen.share)
    elif chosen.walk is not None:
        for number in itertools.count():
            if explorer.report.is_over():
                break
            explorer.walk(chosen.walk * 1_000_000 + number)
    else:
        result = explorer.replay(chosen.replay)
        if result is not None:
            explorer.report.trace(result)
            print("    ".join(map(str, result.answers)))


def _pass_year(seed: int, days: int) -> int:
    """Let a year pass. Return 1 if anything is broken in it."""
    with _world("sqlite") as world:
        year = Year(world, seed, days, MOVES_PER_BOOKING)
        try:
            year.run()
        except Broken as broken:
            print(f"! {broken}")
            return 1
    print(*year.lines(), sep="\n")
    return 0


def _find_defects(minutes: float | None) -> int:
    """Put each defect back until the explorer finds it. Return 1 if it doesn't find one."""
    missed = 0
    for defect in DEFECTS.values():
        report = Report(seconds=60 * (minutes or 10), until_broken=True)
        with _explorer(report, defect.database) as explorer, defect.put_back():
            defect.explore(explorer)
        missed += not report.failures
        found = "found" if report.failures else "NOT FOUND"
        print(f"{defect.name}, {defect.what}: {found}; {report.summary()}", flush=True)
    return 1 if missed else 0


@contextlib.contextmanager
def _explorer(report: Report, database: str, budget: int | None = None) -> Iterator[Explorer]:
    with _world(database) as world:
        yield Explorer(Runner(world), report, database, budget)


@contextlib.contextmanager
def _world(database: str) -> Iterator[World]:
    place = _MEMORY if _MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(dir=place) as directory,
        World(pathlib.Path(directory), database) as world,
    ):
        yield world


def main(words: Sequence[str] | None = None) -> int:
    """Explore, and return 1 if anything is broken."""
    chosen = _arguments(words)
    if chosen.walk is not None and chosen.minutes is None:
        chosen.minutes = 1.0
    if chosen.replay:
        chosen.database = chosen.replay.partition(":")[0]
    logging.disable(logging.CRITICAL)  # Failures are what this is about.
    gc.freeze()  # What has been imported stays.
    gc.set_threshold(_YOUNG)
    if chosen.year is not None:
        return _pass_year(chosen.year, chosen.days)
    if chosen.defects:
        return _find_defects(chosen.minutes)
    report = Report(seconds=None if chosen.minutes is None else 60 * chosen.minutes)
    with _explorer(report, chosen.database, chosen.budget) as explorer:
        _explore(explorer, chosen)
    print(report.summary())
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
