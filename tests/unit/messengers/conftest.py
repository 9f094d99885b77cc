"""A message to send, a receiver of webhooks, and a certificate for servers on this machine."""

from collections.abc import Iterator

import pytest

from tests.fakes.certificate import Certificate
from tests.unit.messengers import receiver as receivers
from warre_blazar.messengers import Message

DATA = {"change": "reminded", "reservation": {"id": "r1"}}
MESSAGE = Message(
    id="warre-7-r1",
    event="reminded",
    to="alpha@example.org",
    subject="Cloud: your reservation \u201cÜbung\u201d ends in 1 hour",
    text="At its end, servers are deleted.\n",
    html="<p>At its end, servers are deleted.</p>\n",
    data=DATA,
    events=[{"id": "warre-7-r1", "data": DATA}],
)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def receiver() -> Iterator[receivers.Receiver]:
    with receivers.serving() as server:
        yield server
