"""Writes configuration files for oslo.config, in which an option may occur several times."""

from collections.abc import Mapping
from pathlib import Path

Value = str | int | bool | Path | list[str]
Sections = Mapping[str, Mapping[str, Value]]


def render(sections: Sections) -> str:
    """Return the text of a configuration file. A list becomes one line for each of its items."""
    lines: list[str] = []
    for section, options in sections.items():
        lines.append(f"[{section}]")
        for name, value in options.items():
            values = value if isinstance(value, list) else [value]
            lines.extend(f"{name} = {_text(item)}" for item in values)
        lines.append("")
    return "\n".join(lines)


def write(path: Path, sections: Sections) -> None:
    """Write a configuration file, and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(sections))


def _text(value: str | int | bool | Path) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
