"""Shows the snapshots of a reservation's servers."""

from cliff import columns

from warre_blazar.client.types import Document


class SnapshotColumn(columns.FormattableColumn):
    """The snapshots. A table has a line for each, and -f json has an array."""

    def human_readable(self) -> str:
        return "\n".join(_line(snapshot) for snapshot in self._value)


def _line(snapshot: Document) -> str:
    """Return a line such as "web: saved, image 0b5e...": the server and what became of it."""
    server = snapshot["server_name"] or snapshot["server"] or "its servers"
    image = f", image {snapshot['image']}" if snapshot["image"] else ""
    error = f" ({snapshot['error']})" if snapshot["error"] else ""
    return f"{server}: {snapshot['status']}{image}{error}"
