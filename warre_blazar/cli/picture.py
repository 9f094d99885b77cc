"""The calendar as a picture."""

from collections.abc import Sequence

from warre_blazar.cli.days import Day
from warre_blazar.cli.failures import Failure


def write(rows: Sequence[tuple[str, Sequence[Day]]], path: str) -> None:
    """Write an SVG or PNG, as the path ends.

    :raises Failure: matplotlib isn't installed, or the file can't be written.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise Failure("Pictures need matplotlib: pip install 'warre-blazar[cli,picture]'") from None
    days = [day.date for day in rows[0][1]]
    figure = Figure(figsize=(2 + 0.45 * len(days), 1 + 0.4 * len(rows)), layout="constrained")
    axes = figure.subplots()
    shares = [[day.throughout / max(1, day.slots) for day in found] for _, found in rows]
    axes.imshow(shares, cmap="RdYlGn", vmin=0, vmax=1, aspect="auto", alpha=0.7)
    for y, (_, found) in enumerate(rows):
        for x, day in enumerate(found):
            more = "+" if day.at_best > day.throughout else ""
            axes.text(x, y, f"{day.throughout}{more}", ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(days)), [f"{d:%a}\n{d:%d %b}" for d in days], fontsize=7)
    # Names are no formulas.
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8, parse_math=False)
    axes.set_title(f"Free slots from {days[0]}", fontsize=10)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
