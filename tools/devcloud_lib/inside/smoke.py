"""Checks that an installed warre-blazar is complete: metadata, hooks, programs, data files."""

import importlib.metadata
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

_PROGRAMS = pathlib.Path(sys.executable).parent
_HOOKS = {
    "blazar.resource.plugins",
    "blazar.api.v2.controllers.extensions",
    "blazar.cli",
    "console_scripts",
    "openstack.reservation.v1",
    "oslo.config.opts",
    "oslo.policy.policies",
}


def output(program: str, *words: str, status: int = 0) -> str:
    """Run a program, which has to end with the given status. Return what it prints."""
    command = [_PROGRAMS / program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == status, f"{program} {' '.join(words)}: {done.returncode}\n{text}"
    return text


def main() -> None:
    distribution = importlib.metadata.distribution("warre-blazar")
    assert distribution.metadata["License-Expression"] == "Apache-2.0"
    assert distribution.metadata["Requires-Python"] == ">=3.11"
    # Horizon comes only with the extra "dashboard".
    assert not [name for name in ("django", "horizon") if importlib.util.find_spec(name)]
    hooks = distribution.entry_points
    assert {e.group for e in hooks} == _HOOKS
    for entry_point in hooks:
        assert callable(entry_point.load())
    print(f"smoke: {distribution.version}, {len(hooks)} entry points load")

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


main()
