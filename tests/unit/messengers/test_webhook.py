"""The messenger webhook, with a real web server."""

from typing import Any

import pytest
import requests
from devcloud_lib.ports import free_port
from oslo_config import cfg

from tests.fakes.certificate import Certificate
from tests.unit.messengers.conftest import MESSAGE
from tests.unit.messengers.receiver import SECRET, Receiver
from warre_blazar.messengers import Misconfigured, ServiceUnavailable, Undeliverable
from warre_blazar.messengers.webhook import WebhookMessenger


@pytest.fixture
def made(conf: Any) -> Any:
    """A function that makes a messenger with options."""

    def make(port: int, **options: Any) -> WebhookMessenger:
        usual = {"webhook_url": f"http://127.0.0.1:{port}/hook", "webhook_secret": SECRET}
        conf.config(group="warre_messages", **{**usual, **options})
        return WebhookMessenger(cfg.CONF)

    return make


def test_message_is_posted_with_a_signature(made: Any, receiver: Receiver):
    made(receiver.server_port).send(MESSAGE)
    (got,) = receiver.received
    assert int(got.pop("stamp")) > 1_600_000_000
    assert got == {
        "id": MESSAGE.id,
        "event": "reminded",
        "to": "alpha@example.org",
        "subject": MESSAGE.subject,
        "text": MESSAGE.text,
        "html": MESSAGE.html,
        "data": MESSAGE.data,
        "stop_url": None,
        "events": [{"id": MESSAGE.id, "data": MESSAGE.data}],
    }


def test_signature_depends_on_the_key(made: Any, receiver: Receiver):
    with pytest.raises(RuntimeError, match="401"):
        made(receiver.server_port, webhook_secret="another").send(MESSAGE)
    assert receiver.received == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, Undeliverable) for status in (400, 410, 413, 422)),
        *((status, RuntimeError) for status in (301, 401, 403, 404, 408, 429, 500, 502, 503)),
    ],
)
def test_refused_message_is_given_up_or_tried_again(
    made: Any, receiver: Receiver, status: int, error: type[Exception]
):
    messenger = made(receiver.server_port)
    receiver.status = status
    with pytest.raises(error, match=str(status)) as refused:
        messenger.send(MESSAGE)
    assert type(refused.value) is error
    receiver.status = 200
    messenger.send(MESSAGE)
    assert len(receiver.received) == 1


def test_redirect_is_not_followed(made: Any, receiver: Receiver):
    receiver.status = 307
    receiver.headers = {"Location": f"http://127.0.0.1:{receiver.server_port}/elsewhere"}
    with pytest.raises(RuntimeError, match="307"):
        made(receiver.server_port).send(MESSAGE)


def test_receiver_that_is_away_holds_up_all_messages(made: Any):
    for host in (f"127.0.0.1:{free_port()}", "receiver.invalid"):
        with pytest.raises(ServiceUnavailable, match="ConnectionError"):
            made(0, webhook_url=f"http://{host}/").send(MESSAGE)


def test_receiver_that_is_silent_holds_up_no_other_message(made: Any, receiver: Receiver):
    messenger = made(receiver.server_port, webhook_timeout=1)
    receiver.may_answer.clear()
    with pytest.raises(requests.exceptions.ReadTimeout):
        messenger.send(MESSAGE)


def test_certificate_is_checked(made: Any, receiver: Receiver, certificate: Certificate):
    receiver.socket = certificate.server_context().wrap_socket(receiver.socket, server_side=True)
    url = f"https://localhost:{receiver.server_port}/hook"
    with pytest.raises(ServiceUnavailable, match="SSLError"):
        made(0, webhook_url=url).send(MESSAGE)
    made(0, webhook_url=url, webhook_ca_file=str(certificate.path)).send(MESSAGE)
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [("webhook_url", None), ("webhook_secret", None), ("webhook_ca_file", "/nowhere")],
)
def test_option_that_can_not_be_used_is_named(made: Any, option: str, value: str | None):
    with pytest.raises(Misconfigured, match=rf"\[warre_messages\] {option} "):
        made(1, **{option: value})
