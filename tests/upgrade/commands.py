"""A user who goes on with the commands of the version before."""

import json
import os
import subprocess
import threading
from collections import Counter
from typing import Any

from tests.upgrade.versions import Version

#: What a command says that may be tried again: the API, or what it needs, doesn't answer.
_AWAY = ("Unable to establish", "Code: service_unavailable", "Code: no_answer")
#: The user of these commands, whom nobody else is.
_USER = "beta"
_FORMAT = ("-f", "json", "--utc")


class Commands:
    """A thread that books, shows, changes, lists and deletes."""

    def __init__(self, version: Version, flavor: str) -> None:
        self._version, self._flavor = version, flavor
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="commands", daemon=True)
        #: The fields of each command's answer, when it was first run.
        self._fields: dict[str, set[str]] = {}
        self.done = Counter[str]()
        #: Commands that failed because a service was away, which they say.
        self.put_off: list[str] = []
        self.wrong: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._over.wait(1):
                self._round()
        except BaseException as error:
            self.wrong.append(f"the thread ended: {error!r}")
            raise

    def _round(self) -> None:
        times = ("--start", "in 2 days", "--hours", "1", "--yes", "--name", "by command")
        made = self._command("create", self._flavor, *times)
        if made is None:
            return
        for verb, words in (("show", ()), ("set", ("--hours", "2", "--yes")), ("list", ())):
            self._command(verb, *(() if verb == "list" else (made["id"],)), *words)
        self._command("delete", made["id"], "--yes")

    def _command(self, verb: str, *words: str) -> Any:
        """Run a command. Return its answer, or None if it failed."""
        form = () if verb == "delete" else _FORMAT
        command = [self._version.programs / "openstack", "reservation", verb, *form, *words]
        env = {**os.environ, "OS_USERNAME": _USER, "OS_PROJECT_NAME": _USER}
        run = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        if run.returncode != 0:
            said = f"{verb}: {run.stdout}{run.stderr}".strip()
            is_away = any(words in said for words in _AWAY)
            (self.put_off if is_away else self.wrong).append(said)
            return None
        self.done[verb] += 1
        answer = json.loads(run.stdout) if form else {}
        first = answer[0] if isinstance(answer, list) else answer
        missing = self._fields.setdefault(verb, set(first)) - set(first)
        if missing:
            self.wrong.append(f"{verb} has no {', '.join(sorted(missing))} any more")
        return answer
