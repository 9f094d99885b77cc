"""The settings of a cloud, which are chosen by `up` and kept in a file."""

import dataclasses
import json
import os
from pathlib import Path

from devcloud_lib import package_sets
from devcloud_lib.console import Failure
from devcloud_lib.package_sets import PackageSet

# Each GPU of a compute has a PCI bus of its own.
_MOST_GPUS = 64
#: The plugins for Blazar's own resource types for compute hosts: Blazar's, and this package's. With
#: "alone", this package is installed, but nothing of it is enabled, and it has no tables.
HOST_PLUGINS = ("stock", "exact", "alone")
REPOSITORY = Path(__file__).resolve().parents[2]


def default_home() -> Path:
    """Return the directory of the cloud for commands without `--home`."""
    chosen = os.environ.get("WARRE_DEVCLOUD_HOME")
    return Path(chosen) if chosen else Path.home() / ".cache/warre-blazar/devcloud"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The sizes of a cloud, and the offset that is added to its ports."""

    computes: int = 3
    api_workers: int = 2
    managers: int = 1
    port_offset: int = 0
    #: PCI devices of each compute that has any.
    gpus: int = 4
    #: The cost of Keystone's hashes of passwords: each login takes 2 to this power rounds of
    #: bcrypt. The default is Keystone's own, a quarter of a second of a core for each login.
    password_rounds: int = 12
    #: Whether Horizon runs beside the other services.
    dashboard: bool = False
    #: One of HOST_PLUGINS.
    host_plugins: str = HOST_PLUGINS[0]
    #: The name of the set of packages that are installed.
    release: str = package_sets.NEWEST.name

    @property
    def packages(self) -> PackageSet:
        """The set of packages that are installed."""
        return package_sets.SETS[self.release]

    def __post_init__(self) -> None:
        for name in ("computes", "api_workers", "managers"):
            if getattr(self, name) < 1:
                raise Failure(f"{name} must be at least 1")
        if not 0 <= self.gpus <= _MOST_GPUS:
            raise Failure(f"gpus must be a number from 0 to {_MOST_GPUS}")
        if not 4 <= self.password_rounds <= 31:
            raise Failure("password_rounds must be a number from 4 to 31")
        if self.host_plugins not in HOST_PLUGINS:
            raise Failure(f"host_plugins must be one of {', '.join(HOST_PLUGINS)}")
        if self.release not in package_sets.SETS:
            raise Failure(f"release must be one of {', '.join(package_sets.SETS)}")


def load(home: Path) -> Settings | None:
    """Return the settings of the last `up` in this home, or None if there was none."""
    path = home / "settings.json"
    if not path.exists():
        return None
    # A cloud of an earlier version of this tool may have settings that are gone.
    known = {field.name for field in dataclasses.fields(Settings)}
    saved = json.loads(path.read_text())
    return Settings(**{name: value for name, value in saved.items() if name in known})


def save(home: Path, settings: Settings) -> None:
    """Write the settings for the commands that follow `up`."""
    (home / "settings.json").write_text(json.dumps(dataclasses.asdict(settings), indent=1) + "\n")


def choose(home: Path, **given: int | str | None) -> Settings:
    """Return the settings of the last `up`, with the values that are given now."""
    last = load(home)
    chosen = dataclasses.replace(
        last or Settings(), **{name: value for name, value in given.items() if value is not None}
    )
    if last is not None and last.port_offset != chosen.port_offset:
        # Ports are written into Keystone's catalog and Nova's cell mappings.
        raise Failure("the ports of a cloud cannot change: run `down --wipe` first")
    is_shared = last is None and home == default_home()
    if chosen.release != package_sets.NEWEST.name and is_shared:
        # Other clouds run the programs of the cloud in that directory.
        raise Failure("a cloud of a release needs a directory of its own: use `--home`")
    if last is not None and last.release != chosen.release:
        # The tables of a newer release can't be used by an older one.
        raise Failure("the release of a cloud cannot change: run `down --wipe` first")
    return chosen
