"""What may be chosen about a cloud, and where that choice is kept."""

import dataclasses
import json
import os
from pathlib import Path

from devcloud_lib.console import Failure

REPOSITORY = Path(__file__).resolve().parents[2]


def default_home() -> Path:
    """The cloud's directory when the command line names none."""
    chosen = os.environ.get("WARRE_DEVCLOUD_HOME")
    return Path(chosen) if chosen else Path.home() / ".cache/warre-blazar/devcloud"


@dataclasses.dataclass(frozen=True)
class Settings:
    """Sizes of a cloud, and how far its ports are moved from their usual numbers."""

    computes: int = 3
    api_workers: int = 2
    managers: int = 1
    port_offset: int = 0

    def __post_init__(self) -> None:
        for name in ("computes", "api_workers", "managers"):
            if getattr(self, name) < 1:
                raise Failure(f"{name} must be at least 1")


def load(home: Path) -> Settings | None:
    """The settings of the last `up` in this home, or None when there was none."""
    path = home / "settings.json"
    return Settings(**json.loads(path.read_text())) if path.exists() else None


def save(home: Path, settings: Settings) -> None:
    """Keep the settings for the commands that come after `up`."""
    (home / "settings.json").write_text(json.dumps(dataclasses.asdict(settings), indent=1) + "\n")


def choose(home: Path, **asked: int | None) -> Settings:
    """The last settings, changed by what was asked for now."""
    last = load(home)
    chosen = dataclasses.replace(
        last or Settings(), **{name: value for name, value in asked.items() if value is not None}
    )
    if last is not None and last.port_offset != chosen.port_offset:
        # Ports are written into Keystone's catalogue and Nova's cell mappings.
        raise Failure("the ports of a cloud cannot change: run `down --wipe` first")
    return chosen
