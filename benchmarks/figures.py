"""The file of figures: every number in the documentation that a benchmark has measured.

The file is ``doc/source/figures.json``. It holds an object for each benchmark, with texts by name
("create.ours": "0.99 s"), the date of the run ("date"), and at most one table ("table": a list of
rows, of which the first is the header). The pages print these by ``doc/source/_ext/measured.py``
and state no measured number of their own, so two pages can't contradict each other.
"""

import datetime
import json
import os
import pathlib
from collections.abc import Mapping, Sequence

#: The environment variable that names the file. Without it a benchmark records nothing.
VARIABLE = "WARRE_FIGURES"


def record(
    benchmark: str, figures: Mapping[str, str], table: Sequence[Sequence[str]] | None = None
) -> None:
    """Replace a benchmark's figures in the file that ``WARRE_FIGURES`` names.

    Figures of other benchmarks stay. Without the variable nothing is written: a run with other
    sizes than the documentation's must not change the documentation.
    """
    if VARIABLE not in os.environ:
        return
    path = pathlib.Path(os.environ[VARIABLE])
    everything = json.loads(path.read_text())
    entry: dict[str, object] = {"date": datetime.date.today().isoformat(), **figures}
    if table is not None:
        entry["table"] = [list(row) for row in table]
    everything[benchmark] = entry
    path.write_text(json.dumps(everything, indent=2, sort_keys=True) + "\n")


def milliseconds(value: float) -> str:
    """A time as the documentation shows it: ``6.2 ms``, from 10 ms on ``27 ms``, then ``2.1 s``.

    :param value: in milliseconds.
    """
    if value < 1000:
        return f"{value:.{1 if value < 10 else 0}f} ms"
    return f"{value / 1000:.1f} s"


def seconds(value: float, digits: int = 2) -> str:
    """A time in seconds as the documentation shows it: ``0.99 s``."""
    return f"{value:.{digits}f} s"
