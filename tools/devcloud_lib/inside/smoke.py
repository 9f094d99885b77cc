"""Checks that an installed warre-blazar is complete: metadata, hooks, programs, data files.

The argument is the setup.cfg from which it was built.
"""

import configparser
import importlib.metadata
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

_PROGRAMS = pathlib.Path(sys.executable).parent
_PACKAGE = "warre_blazar"


def declared(setup: pathlib.Path) -> set[tuple[str, str, str]]:
    """Return group, name and value of each entry point in a setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(setup.read_text())
    return {
        (group, *(side.strip() for side in line.split("=", 1)))
        for group, lines in parser["entry_points"].items()
        for line in lines.strip().splitlines()
    }


def data_files(setup: pathlib.Path) -> set[pathlib.Path]:
    """Return what is in the package of a source tree and isn't a module, relative to the tree."""
    files = setup.parent.joinpath(_PACKAGE).rglob("*")
    return {
        path.relative_to(setup.parent)
        for path in files
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }


def output(program: str, *words: str, status: int = 0) -> str:
    """Run a program, which has to end with the given status. Return what it prints."""
    command = [_PROGRAMS / program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == status, f"{program} {' '.join(words)}: {done.returncode}\n{text}"
    return text


def check_contents(setup: pathlib.Path) -> None:
    """Check the metadata, the entry points and the data files."""
    distribution = importlib.metadata.distribution("warre-blazar")
    assert distribution.metadata["License-Expression"] == "Apache-2.0"
    assert distribution.metadata["Requires-Python"] == ">=3.11"
    # Horizon comes only with the extra "dashboard".
    assert not [name for name in ("django", "horizon") if importlib.util.find_spec(name)]
    hooks = distribution.entry_points
    found, wanted = {(e.group, e.name, e.value) for e in hooks}, declared(setup)
    assert found == wanted, f"entry points: missing {wanted - found}, extra {found - wanted}"
    for entry_point in hooks:
        loaded = entry_point.load()
        # An extension of the openstack command line is a module.
        assert callable(getattr(loaded, "build_option_parser", loaded)), entry_point
    place = pathlib.Path(importlib.util.find_spec(_PACKAGE).origin).parents[1]
    missing = [path for path in data_files(setup) if not (place / path).is_file()]
    assert place != setup.parent, f"{_PACKAGE} is that of the repository"
    assert not missing, f"missing files: {missing}"
    print(f"smoke: {distribution.version}, {len(hooks)} entry points load")


def main(setup: pathlib.Path) -> None:
    check_contents(setup)
    with tempfile.TemporaryDirectory() as directory:
        conf = pathlib.Path(directory) / "blazar.conf"
        conf.write_text(f"[database]\nconnection = sqlite:///{directory}/blazar.sqlite\n")
        history = output("warre-blazar-manage", "--config-file", str(conf), "db", "history")
        assert "0001" in history
        refused = output(
            "warre-blazar-manage", "--config-file", str(conf), "db", "upgrade", status=1
        )
        assert "blazar-db-manage" in refused
        checked = output(
            "warre-blazar-status", "--config-file", str(conf), "upgrade", "check", status=2
        )
        assert "Check: Tables" in checked
    assert "service_connections" in output("oslo-config-generator", "--namespace", "warre_blazar")
    assert "warre:flavor:create" in output(
        "oslopolicy-sample-generator", "--namespace", "warre_blazar"
    )
    print("smoke: warre-blazar-manage, warre-blazar-status and the sample generators work")
    assert "--slots" in output("openstack", "reservation", "flavor", "create", "--help")
    assert "flavor-create" in output("blazar", "help")
    print("smoke: the openstack and blazar commands are there")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
