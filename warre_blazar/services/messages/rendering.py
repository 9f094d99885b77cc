"""Renders messages from templates, which a site may replace."""

import dataclasses
import pathlib
import re
import traceback
from collections.abc import Mapping
from typing import Any

import jinja2
from jinja2 import sandbox
from oslo_log import log as logging

from warre_blazar.domain.messages.messages import one_line

LOG = logging.getLogger(__name__)

_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_BUILT_IN = jinja2.PackageLoader("warre_blazar", "message_templates")


@dataclasses.dataclass(frozen=True)
class Rendered:
    """What a message says."""

    subject: str
    text: str
    html: str


class Templates:
    """The templates of messages.

    There is a template for each event, such as ``reminded.txt``, and another one if some events
    concern several reservations, such as ``created_several.txt``. Its first line is the subject,
    and the rest are paragraphs. ``message.txt`` and ``message.html`` put the paragraphs into a
    message.
    """

    def __init__(self, site_directory: str = "") -> None:
        """
        :param site_directory: the directory whose files replace built-in templates of the same
            name. An empty text: there is none.
        """
        self._built_in = _environment(_BUILT_IN)
        self._site: sandbox.SandboxedEnvironment | None = None
        if site_directory:
            self._directory = pathlib.Path(site_directory)
            of_site = jinja2.FileSystemLoader(self._directory)
            self._site = _environment(jinja2.ChoiceLoader([of_site, _BUILT_IN]))

    def render(self, event: str, values: Mapping[str, Any]) -> Rendered:
        """Render a message.

        If a template of the site has an error, the message is rendered from the built-in templates,
        and the log says where the error is.
        """
        if self._site is None:
            return _render(self._built_in, event, values)
        try:
            return _render(self._site, event, values)
        except Exception as error:  # A template can raise whatever its expressions raise.
            place = _place(error, self._directory)
            text = "%s: %s. The message about %r is made from the built-in templates"
            LOG.error(text, place, error, event)
        return _render(self._built_in, event, values)


def _environment(loader: jinja2.BaseLoader) -> sandbox.SandboxedEnvironment:
    made = sandbox.ImmutableSandboxedEnvironment(
        loader=loader,
        autoescape=jinja2.select_autoescape(["html"], default=False),
        undefined=jinja2.StrictUndefined,
    )
    made.filters["line"] = one_line
    return made


def _render(environment: jinja2.Environment, event: str, values: Mapping[str, Any]) -> Rendered:
    name = f"{event}.txt" if values["number"] == 1 else f"{event}_several.txt"
    head, _, body = environment.get_template(name).render(values).partition("\n")
    subject = one_line(head)
    if not subject:
        raise ValueError(f"the first line of {name}, which is the subject, is empty")
    paragraphs = [text.strip() for text in _EMPTY_LINES.split(body) if text.strip()]
    more = {**values, "subject": subject, "paragraphs": paragraphs}
    text, html = (
        environment.get_template(f"message.{form}").render(more) for form in ("txt", "html")
    )
    if (link := values.get("stop_url")) and not (link in text and link in html):
        raise ValueError("message.txt and message.html don't both show stop_url")
    ids = [each["id"] for each in values["reservations"]] if values["number"] > 1 else []
    if not all(each in text and each in html for each in ids):
        raise ValueError("message.txt and message.html don't both show all reservations")
    # Statements of a template leave empty lines.
    text = _EMPTY_LINES.sub("\n\n", text)
    return Rendered(subject, f"{text.strip()}\n", f"{html.strip()}\n")


def _place(error: Exception, directory: pathlib.Path) -> str:
    """The file and the line of a template in which an error has occurred."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{error.filename or error.name}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    # Jinja2 puts the lines of templates into the traceback.
    for frame in reversed(frames):
        if pathlib.Path(frame.filename).is_relative_to(directory):
            return f"{frame.filename}, line {frame.lineno}"
    return f"A template in {directory}"
