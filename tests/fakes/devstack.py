"""A devstack that runs our plugin: real files and bash, stand-ins for devstack's own functions."""

import os
import pathlib
import subprocess

_ROOT = pathlib.Path(__file__).parents[2]
FUNCTIONS = pathlib.Path(__file__).with_name("devstack.sh")

#: blazar.conf as Blazar's plugin writes it, in what matters here.
BLAZAR_CONF = """\
[DEFAULT]
host = 127.0.0.1

[manager]
plugins = physical.host.plugin,virtual.instance.plugin

[api]
api_v2_controllers = oshosts,leases

[enforcement]
enabled_filters = MaxLeaseDurationFilter

[database]
connection = sqlite://
"""

#: Of stack.sh, unstack.sh and clean.sh.
PHASES = {
    "stack": [
        "stack pre-install",
        "stack install",
        "stack post-config",
        "stack extra",
        "stack test-config",
    ],
    "unstack": ["unstack"],
    "clean": ["unstack", "clean"],
}


class Devstack:
    """One in a directory, where ``bin`` has the programs of Blazar's environment."""

    def __init__(
        self, directory: pathlib.Path, blazar_conf: str = BLAZAR_CONF, **variables: str
    ) -> None:
        self.conf = directory / "blazar.conf"
        self.conf.write_text(blazar_conf)
        self._calls = directory / "calls"
        self.bin = directory / "bin"
        self.bin.mkdir()
        self._variables = {
            "DEST": str(directory),
            "ENABLED_SERVICES": "key,blazar-a,blazar-m",
            "REGION_NAME": "RegionOne",
            "SERVICE_PASSWORD": "secret",
            "KEYSTONE_SERVICE_URI": "http://127.0.0.1/identity",
            "BLAZAR_CONF_FILE": str(self.conf),
            "BLAZAR_BIN_DIR": str(self.bin),
            "BLAZAR_USER_NAME": "blazar",
            "BLAZAR_USE_MOD_WSGI": "True",
            "BLAZAR_SERVICE_PROTOCOL": "http",
            "BLAZAR_SERVICE_HOST": "127.0.0.1",
            "BLAZAR_SERVICE_PORT": "1234",
            "CALLS": str(self._calls),
            **variables,
        }

    def program(self, name: str, status: int = 0) -> None:
        """A program that only writes down how it was called."""
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self._calls}"\nexit {status}\n')
        path.chmod(0o755)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """The phases of ``stack``, ``unstack`` or ``clean``, each as devstack runs it."""
        lines = [
            "set -o errexit -o pipefail",
            f"source {FUNCTIONS}",
            f"source {_ROOT / 'devstack' / 'settings'}",
            *(f"source {_ROOT / 'devstack' / 'plugin.sh'} {phase}" for phase in PHASES[script]),
        ]
        # Those of the clients would go before what --os-cloud names.
        outer = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        env = {**outer, **self._variables}
        env["PATH"] = f"{self.bin}{os.pathsep}{env['PATH']}"
        return subprocess.run(
            ["bash", "-c", "\n".join(lines)], env=env, capture_output=True, text=True, check=False
        )

    def calls(self) -> list[str]:
        """What was called since this was last asked."""
        found = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return found
