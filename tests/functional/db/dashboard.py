"""The dashboard's queries, and a drawing of what a real Prometheus answers to them."""

import json
import math
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import figure

_FILE = pathlib.Path(__file__).parents[3] / "etc/grafana/warre-blazar.json"
#: What Grafana would put into queries.
_VARIABLES = {"$flavor": ".*", "$__rate_interval": "1m"}

#: How Grafana writes a value of a unit.
_WRITTEN: dict[str, Callable[..., str]] = {
    "none": lambda value, *_: f"{value:g}",
    "s": lambda value, *_: f"{value:g} s",
    "percentunit": lambda value, *_: f"{value:.1%}",
}
#: Pairs of the name of a line and its points.
Series = Sequence[tuple[str, Sequence[tuple[float, float]]]]


def load() -> dict[str, Any]:
    """The dashboard."""
    return json.loads(_FILE.read_text())


def rows() -> dict[str, list[dict[str, Any]]]:
    """The panels of each row, by the row's title."""
    found: dict[str, list[dict[str, Any]]] = {}
    title = ""
    for panel in load()["panels"]:
        if panel["type"] == "row":
            title = panel["title"]
            found[title] = []
        else:
            found[title].append(panel)
    return found


def queries(panel: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The queries of a panel as Prometheus gets them, each with the pattern of its legend."""
    for target in panel["targets"]:
        text = target["expr"]
        for name, value in _VARIABLES.items():
            text = text.replace(name, value)
        yield text, target["legendFormat"]


def legend(pattern: str, labels: dict[str, str]) -> str:
    """The name of a line, as Grafana makes it."""
    for name, value in labels.items():
        pattern = pattern.replace("{{" + name + "}}", value)
    return pattern


def draw(answers: Callable[[str, str], Series], directory: pathlib.Path) -> list[pathlib.Path]:
    """Draw each row of the dashboard into a file of its own.

    :param answers: returns the lines of a query. Its second argument is the pattern of the legend.
    """
    paths = []
    for title, panels in rows().items():
        drawing = figure.Figure(figsize=(6 * min(len(panels), 3), 4 * math.ceil(len(panels) / 3)))
        drawing.suptitle(title)
        places = drawing.subplots(math.ceil(len(panels) / 3), min(len(panels), 3), squeeze=False)
        for panel, axes in zip(panels, places.flat, strict=False):
            lines = [line for query in queries(panel) for line in answers(*query)]
            _draw_panel(axes, panel, lines)
        drawing.tight_layout()
        paths.append(directory / f"{title.lower().replace(' ', '-')}.png")
        drawing.savefig(paths[-1], dpi=60)
    return paths


def _draw_panel(axes: Any, panel: dict[str, Any], lines: Series) -> None:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    axes.set_title(panel["title"])
    if panel["type"] == "timeseries":
        for name, points in lines:
            axes.plot([x for x, _ in points], [y for _, y in points], label=name, marker=".")
        axes.legend(fontsize=7)
        axes.set_xlabel("seconds from now", fontsize=7)
        values = axes.yaxis
        axes.set_ylim(0, _upper([y for _, points in lines for _, y in points], unit))
    else:
        names = [name for name, _ in lines]
        numbers = [points[-1][1] for _, points in lines]
        bars = axes.barh(range(len(names)), numbers)
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.bar_label(bars, fmt=_WRITTEN[unit])
        values = axes.xaxis
        axes.set_xlim(0, _upper(numbers, unit))
    values.set_major_formatter(_WRITTEN[unit])


def _upper(numbers: Sequence[float], unit: str) -> float:
    """The upper end of an axis of values. Shares are of a whole, and zeros are at its lower end."""
    return 1.05 if unit == "percentunit" else max(1.0, *numbers) * 1.15
