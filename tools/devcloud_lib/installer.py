"""Makes and fills virtual environments: with uv, which takes seconds, or else with pip.

uv comes from the package index. pip installs it into a small environment of its own, and uv is then
given what pip is configured to use: indexes, directories of packages, certificates, proxy. Where uv
can't be had or fails, pip does the same work in minutes, and one line says so.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from devcloud_lib import shell
from devcloud_lib.console import Failure, say

Configuration = Mapping[str, str]

#: Options of pip that take one value, and the variables that tell uv the same.
_VARIABLES = {
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
    "timeout": ("UV_HTTP_TIMEOUT",),
    "constraint": ("UV_CONSTRAINT",),
}
#: Options of pip that take a list, and uv's options that take one value of it each.
_LISTS = {
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
_TRUE = ("1", "true", "yes", "on", "y", "t")


def parse(listing: str) -> dict[str, str]:
    """The options for ``pip install`` in what ``pip config list`` prints.

    As in pip, a section ``[install]`` goes before ``[global]``, and variables before both.
    """
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in found:
            found[section][name] = str(ast.literal_eval(value))
    return {name: value for section in found.values() for name, value in section.items()}


def uv_arguments(configuration: Configuration, exists: Callable[[str], bool]) -> list[str]:
    """The options of ``uv pip install`` and ``uv venv`` that say what pip's configuration says.

    :param exists: whether a path is there: pip only warns of a missing directory of packages, uv
        fails.
    """
    # pip takes the best version of all indexes, uv that of the first which has any.
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
    """The variables for uv that say what pip's configuration says."""
    variables = {
        # Without pip's certificates, those of the system: a proxy of the site's may need them.
        "UV_SYSTEM_CERTS": "true",
        # The tools say which Python; uv must not bring another.
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_CONFIG": "true",
        # As pip does. A dozen processes that start together would each compile what they share.
        "UV_COMPILE_BYTECODE": "true",
    }
    for name, theirs in _VARIABLES.items():
        if name in configuration:
            variables |= dict.fromkeys(theirs, configuration[name])
    return variables


class Installer:
    """Makes and fills environments. Every method raises Failure when uv and pip both fail."""

    def __init__(self, home: Path, log: Path) -> None:
        """Make nothing yet.

        :param home: uv's own environment, made when it is needed and missing.
        :param log: file to which the output of every program is added.
        """
        self._home, self._log = home, log
        self._uv: tuple[list[str], dict[str, str]] | None = None
        self._without_uv = False

    def make(self, directory: Path, python: str = sys.executable) -> None:
        """Make an environment that has pip, unless it is there."""
        if (directory / "bin" / "pip").exists():
            return
        self._either(
            ["venv", "--quiet", "--seed", "--allow-existing", "--python", python, directory],
            [python, "-m", "venv", directory],
            configured=True,
        )

    def install(self, directory: Path, *words: str | Path) -> None:
        """Install packages, named as for ``pip install``, into an environment."""
        self._either(
            ["pip", "install", "--quiet", "--python", _python(directory), *words],
            [_python(directory), "-m", "pip", "install", "--quiet", *words],
            configured=True,
        )

    def uninstall(self, directory: Path, name: str) -> None:
        """Take a package out of an environment; nothing happens when it isn't there."""
        self._either(
            ["pip", "uninstall", "--quiet", "--python", _python(directory), name],
            [_python(directory), "-m", "pip", "uninstall", "--quiet", "--yes", name],
        )

    def _either(self, of_uv: shell.Words, of_pip: shell.Words, configured: bool = False) -> None:
        """Have uv do it, or pip where that fails.

        :param configured: whether this command of uv's takes options about indexes.
        """
        if not self._without_uv:
            try:
                program = self._home / "bin" / "uv"
                options, variables = self._prepared()
                words = [program, *of_uv, *(options if configured else [])]
                shell.run(words, self._log, variables)
                return
            except (Failure, OSError) as failure:
                say(f"uv can't be used ({failure}, see {self._log}): pip takes its place, slowly")
                self._without_uv = True
        shell.run(of_pip, self._log)

    def _prepared(self) -> tuple[list[str], dict[str, str]]:
        """uv's options and variables, once uv is there."""
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
            # What somebody has set for uv is meant.
            theirs = {name: value for name, value in os.environ.items() if name.startswith("UV_")}
            self._uv = uv_arguments(configuration, os.path.exists), {**variables, **theirs}
        return self._uv


def _python(directory: Path) -> Path:
    return directory / "bin" / "python"
