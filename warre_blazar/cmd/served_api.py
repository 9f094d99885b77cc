"""What the public endpoint of Blazar's API says about itself to a request without a token."""

import dataclasses
import importlib.metadata
import re

from keystoneauth1 import exceptions as ks_exc

from warre_blazar import times
from warre_blazar.openstack import keystone
from warre_blazar.wsgi.guard import HEADER

#: The value of the header that each answer of this package has. It leaves out the number of
#: threads if the web server doesn't tell it.
_VALUE = re.compile(r"(?P<version>[^;\s]+)(?:\s*;\s*threads=(?P<threads>\d+))?")
#: The URL of the API ends with the version, which isn't part of the root.
_VERSION = re.compile(r"/v2$")


@dataclasses.dataclass(frozen=True)
class ServedApi:
    """What was found.

    :ivar shortcoming: what is wrong, and what to do. Empty: nothing.
    """

    found: str = ""
    shortcoming: str = ""


def look() -> ServedApi:
    """Ask the public endpoint for its list of versions, and read who answers.

    :raises ServiceUnavailable: Keystone can't be reached, or the catalog has no endpoint of Blazar.
    :raises ServiceRefused: Keystone refuses the login.
    """
    url = f"{_VERSION.sub('', keystone.public_url())}/"
    try:
        answer = keystone.service_session().get(
            url, authenticated=False, raise_exc=False, timeout=times.ENDPOINT_TIMEOUT
        )
    except ks_exc.ClientException as error:
        return ServedApi(shortcoming=_unreachable(url, error))
    return _read(url, answer.status_code, answer.headers.get(HEADER))


def _unreachable(url: str, error: ks_exc.ClientException) -> str:
    why = str(error).rstrip(".")
    return f"Blazar's public endpoint {url} can't be reached from here, so nothing is known: {why}."


def _read(url: str, status: int, value: str | None) -> ServedApi:
    said = _VALUE.fullmatch(value.strip()) if value else None
    if said is None:
        return ServedApi(
            shortcoming=f"{url} answers with {status} and without the header {HEADER}. So it "
            "serves Blazar without this package's checks, or an older version of this package. "
            "Install this version there, name flavor.slot.plugin in [manager] plugins, and restart "
            "blazar-api.",
        )
    version, threads = said["version"], said["threads"]
    number = f"{threads} threads" if threads else "an unknown number of threads"
    found = f"{url} serves version {version} with {number} in each process."
    installed = importlib.metadata.version("warre-blazar")
    if version != installed:
        return ServedApi(
            found,
            f"{url} serves version {version}, and {installed} is installed here. Install the same "
            "version everywhere, and restart blazar-api.",
        )
    if threads == "1":
        return ServedApi(
            found,
            f"Each process of {url} has one thread. While it waits for a manager, it answers no "
            "other request, not even a load balancer's. Give it threads, for example threads = 16 "
            "in the file of uWSGI.",
        )
    return ServedApi(found)
