#!/usr/bin/env python3
"""Seconds of whole processes: ``blazar flavor-list`` beside stock ``blazar lease-list``.

Run on a quiet dev cloud (``eval "$(tools/devcloud env alpha)"`` first). One after the other,
alternating, so that whatever else the machine does meets both; prints the median of each and the
ratio, whose bound is 1.1. Also the seconds it takes to import the client.
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import time

import figures

BOUND = 1.1
OURS, STOCK = "flavor-list", "lease-list"


def seconds(*command: str) -> tuple[float, float]:
    """(on the clock, of the processor) that a process takes; it has to succeed."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after, ended = os.times(), time.perf_counter()
    return ended - began, sum(after[2:4]) - sum(before[2:4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    taken: dict[str, list[tuple[float, float]]] = {OURS: [], STOCK: []}
    for name in (OURS, STOCK):
        seconds("blazar", name)
    for names in itertools.islice(itertools.cycle([(OURS, STOCK), (STOCK, OURS)]), runs):
        for name in names:
            taken[name].append(seconds("blazar", name))
    ratios: list[float] = []
    for kind, index in (("wall", 0), ("cpu", 1)):
        medians = {n: statistics.median(t[index] for t in found) for n, found in taken.items()}
        ratios.append(medians[OURS] / medians[STOCK])
        print(
            f"{kind:5} {OURS} {medians[OURS]:.3f} s, {STOCK} {medians[STOCK]:.3f} s, "
            f"ratio {ratios[-1]:.3f} (median of {runs})"
        )
    imported = [seconds(sys.executable, "-c", "import warre_blazar.client")[0] for _ in range(5)]
    nothing = [
        seconds(sys.executable, "-c", "import keystoneauth1.session, keystoneauth1.adapter")[0]
        for _ in range(5)
    ]
    print(
        f"import warre_blazar.client {statistics.median(imported):.3f} s, "
        f"keystoneauth1 alone {statistics.median(nothing):.3f} s"
    )
    wall, processor = (f"{ratio:.2f}" for ratio in ratios)
    figures.record("cli", {"runs": str(runs), "wall.ratio": wall, "cpu.ratio": processor})
    return 0 if ratios[0] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
