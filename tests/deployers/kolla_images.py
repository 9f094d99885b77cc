"""Images of Kolla: their Dockerfiles as ``kolla-build`` renders them, without building anything."""

import dataclasses
import re
from pathlib import Path

from tests.deployers import environments

OVERRIDE = environments.CONTRIB / "kolla" / "template-override.j2"
#: What stands for the repository's URL in the files of ``contrib/``.
PLACEHOLDER = "URL_OF_THIS_REPOSITORY"
_IMAGES = {
    "blazar-base": "blazar/blazar-base",
    "blazar-api": "blazar/blazar-api",
    "blazar-manager": "blazar/blazar-manager",
    "horizon": "horizon",
}


@dataclasses.dataclass(frozen=True)
class Image:
    """An image's Dockerfile, and the directory with the files that the Dockerfile copies."""

    directory: Path

    @property
    def instructions(self) -> list[str]:
        """The instructions, each as one line of text with a single space between words."""
        text = (self.directory / "Dockerfile").read_text().replace("\\\n", " ")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        return [" ".join(line.split()) for line in lines if line.strip()]

    def commands(self, pattern: str) -> list[str]:
        """The shell commands of the ``RUN`` instructions in which the pattern is found."""
        runs = [i.removeprefix("RUN ") for i in self.instructions if i.startswith("RUN ")]
        return [command for command in runs if re.search(pattern, command)]


def rendered(version: str, work: Path, override: Path | None = OVERRIDE) -> dict[str, Image]:
    """Let a version of Kolla render its images. Return those of Blazar and Horizon by name.

    :param work: a directory for the Dockerfiles.
    :param override: a template that changes the images. None: Kolla's images as they are.
    """
    program = environments.home() / f"kolla-{version}" / "bin" / "kolla-build"
    words = ["--template-only", "--base", "debian", "--tag", "tag", "--work-dir", work]
    if override:
        words += ["--template-override", override]
    environments.run(program, *words)
    return {name: Image(work / "docker" / path) for name, path in _IMAGES.items()}
