"""Checks what users get who install only the commands: few packages, and commands that work.

The environment of this program has the wheel with its extra ``cli``, and nothing else.
"""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

_PROGRAMS = pathlib.Path(sys.executable).parent
#: The most packages that the extra may bring, this package included.
_MOST = 60


def installed() -> list[str]:
    """Return the names of the installed packages, without those of each new environment."""
    names = {each.metadata["Name"] for each in importlib.metadata.distributions()}
    return sorted(names - {"pip", "wheel"})


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment, without variables of a cloud."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    command = [str(_PROGRAMS / words[0]), *words[1:]]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def main() -> None:
    names = installed()
    assert len(names) <= _MOST, f"{len(names)} packages: {', '.join(names)}"
    print(f"laptop: {len(names)} packages")
    for words in ("openstack reservation flavor list --help", "blazar help flavor-list"):
        done = run(*words.split())
        assert done.returncode == 0 and "--long" in done.stdout, done.stdout + done.stderr
    assert run("python", "-c", "import warre_blazar.client").returncode == 0
    print("laptop: the commands and the client work")
    for name in ("api", "manage", "status"):
        done = run(f"warre-blazar-{name}", "--help")
        assert done.returncode == 1, done
        assert done.stderr.endswith("pip install 'warre-blazar[server]'\n"), done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
    print("laptop: the programs of the server say that they need the extra server")


if __name__ == "__main__":
    main()
