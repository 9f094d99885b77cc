"""Makes virtual environments and installs packages into them, with uv or, if that fails, with pip.

uv takes seconds where pip takes minutes. pip installs uv from the package index into a small
environment of its own. uv is then given pip's configuration: indexes, directories of packages,
certificates and proxy. If uv can't be installed or fails, pip does its work, and a line is printed
that says so.
"""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from devcloud_lib import shell
from devcloud_lib.console import Failure, say

Configuration = Mapping[str, str]

#: Options of pip that take one value, and the environment variables that mean the same to uv.
_VARIABLES = {
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
    "timeout": ("UV_HTTP_TIMEOUT",),
    "constraint": ("UV_CONSTRAINT",),
}
#: Options of pip that take a list, and the option of uv that each item of the list becomes.
_LISTS = {
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
_TRUE = ("1", "true", "yes", "on", "y", "t")


def parse(listing: str) -> dict[str, str]:
    """Return the options of ``pip install`` from the output of ``pip config list``.

    As in pip, the section ``[install]`` overrides ``[global]``, and variables override both.
    """
    by_section: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in by_section:
            by_section[section][name] = str(ast.literal_eval(value))
    return {name: value for section in by_section.values() for name, value in section.items()}


def uv_arguments(configuration: Configuration, exists: Callable[[str], bool]) -> list[str]:
    """Return the options of ``uv pip install`` and ``uv venv`` for pip's configuration.

    :param exists: tells whether a path exists. Directories of packages that don't exist are left
        out, because uv fails on them, while pip only prints a warning.
    """
    # Like pip, take the best version of all indexes. By default uv uses the first index that has
    # the package.
    words = ["--index-strategy", "unsafe-best-match"]
    if "index-url" in configuration:
        words += ["--default-index", configuration["index-url"]]
    if configuration.get("no-index", "").lower() in _TRUE:
        words.append("--no-index")
    for name, option in _LISTS.items():
        for value in configuration.get(name, "").split():
            path = value.removeprefix("file://")
            if name == "trusted-host" or "://" in path or exists(path):
                words += [option, value]
    return words


def uv_environment(configuration: Configuration) -> dict[str, str]:
    """Return environment variables for uv that mean the same as pip's configuration."""
    variables = {
        # Unless pip has certificates of its own, use the system's, which a site's proxy may need.
        "UV_SYSTEM_CERTS": "true",
        # The tools choose the Python. uv must not download another one.
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_CONFIG": "true",
        # As pip does. Otherwise processes that start together would compile the same modules.
        "UV_COMPILE_BYTECODE": "true",
    }
    for name, uv_names in _VARIABLES.items():
        if name in configuration:
            variables |= dict.fromkeys(uv_names, configuration[name])
    return variables


class Installer:
    """Makes environments and installs packages. Methods raise Failure if uv and pip both fail."""

    def __init__(self, home: Path, log: Path, constraints: Path | None = None) -> None:
        """Keep the paths. Nothing is made yet.

        :param home: the directory of uv's own environment, which is made when it is needed.
        :param log: the file to which the output of all programs is appended.
        :param constraints: a file of constraints for all packages that are installed, beside those
            that are configured.
        """
        self._home, self._log, self._constraints = home, log, constraints
        self._uv: tuple[list[str], dict[str, str]] | None = None
        self._without_uv = False

    def make(self, directory: Path, python: str = sys.executable) -> None:
        """Make an environment that has pip, unless it exists. One of another Python is removed."""
        if (directory / "bin" / "pip").exists():
            if _is_same(_python(directory), python):
                return
            # It may be a link to an environment that several clouds share.
            target = directory.resolve()
            shutil.rmtree(target)
            target.mkdir()
        self._either(
            ["venv", "--quiet", "--seed", "--allow-existing", "--python", python, directory],
            [python, "-m", "venv", directory],
            configured=True,
        )

    def install(self, directory: Path, *words: str | Path) -> None:
        """Install packages, named as for ``pip install``, into an environment."""
        # uv gets the constraints by a variable, because the option would replace the variable.
        constraints = ["--constraint", self._constraints] if self._constraints else []
        self._either(
            ["pip", "install", "--quiet", "--python", _python(directory), *words],
            [_python(directory), "-m", "pip", "install", "--quiet", *constraints, *words],
            configured=True,
        )

    def uninstall(self, directory: Path, name: str) -> None:
        """Uninstall a package from an environment, if it is installed there."""
        self._either(
            ["pip", "uninstall", "--quiet", "--python", _python(directory), name],
            [_python(directory), "-m", "pip", "uninstall", "--quiet", "--yes", name],
        )

    def _either(
        self, uv_command: shell.Words, pip_command: shell.Words, configured: bool = False
    ) -> None:
        """Run the command of uv, or that of pip if uv fails.

        :param configured: whether this command of uv accepts options about indexes.
        """
        if not self._without_uv:
            try:
                program = self._home / "bin" / "uv"
                options, variables = self._prepared()
                words = [program, *uv_command, *(options if configured else [])]
                shell.run(words, self._log, variables)
                return
            except (Failure, OSError) as failure:
                say(f"uv can't be used ({failure}, see {self._log}): pip takes its place, slowly")
                self._without_uv = True
        shell.run(pip_command, self._log)

    def _prepared(self) -> tuple[list[str], dict[str, str]]:
        """Install uv if necessary. Return its options and variables."""
        if self._uv is None:
            pip = self._home / "bin" / "pip"
            if not (self._home / "bin" / "uv").exists():
                shell.run([sys.executable, "-m", "venv", self._home], self._log)
                shell.run([pip, "install", "--quiet", "uv"], self._log)
            listed = subprocess.run(
                [pip, "config", "list"], capture_output=True, text=True, check=False
            )
            configuration = parse(listed.stdout)
            variables = uv_environment(configuration)
            # Variables that the user has set for uv take precedence.
            user_set = {name: value for name, value in os.environ.items() if name.startswith("UV_")}
            variables = {**variables, **user_set}
            if self._constraints:
                others = variables.get("UV_CONSTRAINT", "").split()
                variables["UV_CONSTRAINT"] = " ".join([*others, str(self._constraints)])
            self._uv = uv_arguments(configuration, os.path.exists), variables
        return self._uv


def _is_same(program: Path, other: str) -> bool:
    """Whether two programs are the same file, such as a link in an environment and its target."""
    found = shutil.which(other)
    return found is not None and program.exists() and program.samefile(found)


def _python(directory: Path) -> Path:
    return directory / "bin" / "python"
