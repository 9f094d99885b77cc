"""A fake devstack that runs this package's plugin with real files, in a real bash.

Devstack's own functions are replaced by those in ``devstack.sh``.
"""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_CONSTRAINTS = _ROOT / "tests" / "constraints" / "master.txt"
FUNCTIONS = pathlib.Path(__file__).with_name("devstack.sh")

#: The parts of the blazar.conf that Blazar's devstack plugin writes which matter here.
BLAZAR_CONF = """\
[DEFAULT]
host = 127.0.0.1

[manager]
plugins = physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin

[api]
api_v2_controllers = oshosts,leases

[enforcement]
enabled_filters = MaxLeaseDurationFilter

[database]
connection = sqlite://
"""

#: The phases that stack.sh, unstack.sh and clean.sh run.
PHASES = {
    "stack": [
        "stack pre-install",
        "stack install",
        "stack post-config",
        "stack extra",
        "stack test-config",
    ],
    "unstack": ["unstack"],
    "clean": ["clean"],
}
#: Addresses at which nothing answers: clean.sh runs after Keystone and the database have ended.
_NO_DATABASE = "mysql+pymysql://nobody@127.0.0.1:1/blazar"
_NO_KEYSTONE = {"OS_CLIENT_CONFIG_FILE": os.devnull, "FAKE_KEYSTONE": os.devnull}


class Devstack:
    """A devstack in a directory. Its ``bin`` has the programs of Blazar's virtual environment."""

    def __init__(
        self, directory: pathlib.Path, blazar_conf: str = BLAZAR_CONF, **variables: str
    ) -> None:
        self.conf = directory / "blazar.conf"
        self.conf.write_text(blazar_conf)
        self.uwsgi_conf = directory / "blazar-api-uwsgi.ini"
        self._calls = directory / "calls"
        self.bin = directory / "bin"
        self.venv = directory / "data" / "venv"
        requirements = directory / "requirements"
        for path in (self.bin, self.venv, requirements):
            path.mkdir(parents=True)
        # Devstack's master installs with the constraints of the release to come.
        shutil.copy(_CONSTRAINTS, requirements / "upper-constraints.txt")
        #: Whether ``local.conf`` enables this package's plugin before Blazar's.
        self.ours_first = False
        #: Variables that ``local.conf``, devstack's libraries and the settings of Blazar's plugin
        #: set. The names of the last begin with ``BLAZAR_``.
        self.variables = {
            "DEST": str(directory),
            "ENABLED_SERVICES": "key,blazar-a,blazar-m",
            "GLOBAL_VENV": "True",
            "DEVSTACK_VENV": str(self.venv),
            "REQUIREMENTS_DIR": str(requirements),
            "REGION_NAME": "RegionOne",
            "SERVICE_PASSWORD": "secret",
            "KEYSTONE_SERVICE_URI": "http://127.0.0.1/identity",
            "BLAZAR_CONF_FILE": str(self.conf),
            "BLAZAR_BIN_DIR": str(self.bin),
            "BLAZAR_USER_NAME": "blazar",
            "BLAZAR_USE_MOD_WSGI": "True",
            "BLAZAR_UWSGI": "blazar.wsgi.api:application",
            "BLAZAR_UWSGI_CONF": str(self.uwsgi_conf),
            "BLAZAR_SERVICE_PROTOCOL": "http",
            "BLAZAR_SERVICE_HOST": "127.0.0.1",
            "BLAZAR_SERVICE_PORT": "1234",
            "CALLS": str(self._calls),
            **variables,
        }

    def program(self, name: str, status: int = 0, directory: pathlib.Path | None = None) -> None:
        """Make a program that only records how it was called.

        :param directory: by default, that of the programs of Blazar's virtual environment.
        """
        text = f'#!/bin/sh\necho "{name} $*" >>"{self._calls}"\nexit {status}\n'
        self.script(name, text, directory)

    def script(self, name: str, text: str, directory: pathlib.Path | None = None) -> None:
        """Make a program with a text."""
        path = (directory or self.bin) / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run the plugins' phases of ``stack``, ``unstack`` or ``clean``.

        As in devstack, ``clean.sh`` runs ``unstack.sh --all`` first, which ends Keystone and the
        database.
        """
        if script != "clean":
            return self._run(script, {})
        unstacked = self._run("unstack", {})
        with self._without_database():
            cleaned = self._run("clean", _NO_KEYSTONE)
        return subprocess.CompletedProcess(
            cleaned.args,
            unstacked.returncode or cleaned.returncode,
            unstacked.stdout + cleaned.stdout,
            unstacked.stderr + cleaned.stderr,
        )

    def _run(self, script: str, changes: dict[str, str]) -> subprocess.CompletedProcess[str]:
        settings = [
            " ".join(f"{name}={shlex.quote(self.variables[name])}" for name in self._blazars()),
            f"source {_ROOT / 'devstack' / 'settings'}",
        ]
        lines = [f"source {FUNCTIONS}", f"begin_script {script}", *self._in_order(settings)]
        for phase in PHASES[script]:
            plugins = [f"blazar_plugin {phase}", f"source {_ROOT}/devstack/plugin.sh {phase}"]
            lines += self._in_order(plugins)
        outer = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        env = {**outer, **self.variables, **changes}
        for name in self._blazars():
            del env[name]
        env["PATH"] = f"{self.bin}{os.pathsep}{env['PATH']}"
        return subprocess.run(
            ["bash", "-c", "\n".join(lines)], env=env, capture_output=True, text=True, check=False
        )

    def _blazars(self) -> list[str]:
        """The names of the variables that the settings of Blazar's plugin set."""
        return [name for name in self.variables if name.startswith("BLAZAR_")]

    def _in_order(self, plugins: list[str]) -> list[str]:
        """Order a command for Blazar's plugin and one for ours as ``local.conf`` does."""
        return plugins[::-1] if self.ours_first else plugins

    @contextlib.contextmanager
    def _without_database(self) -> Iterator[None]:
        """Let blazar.conf, if it exists, name a database that doesn't answer."""
        if not self.conf.exists():
            yield
            return
        usual = self.conf.read_text()
        self.conf.write_text(re.sub("(?m)^connection = .*", f"connection = {_NO_DATABASE}", usual))
        yield
        self.conf.write_text(usual)

    def calls(self) -> list[str]:
        """The calls that were recorded since this method was last called."""
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return calls
