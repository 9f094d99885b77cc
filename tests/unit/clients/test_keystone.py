"""The session that all threads of a process share."""

import threading

from tests.fakes.cloud import Cloud
from warre_blazar.clients import keystone


def test_token_that_another_thread_drops_meanwhile_is_got_again(cloud: Cloud):
    """keystoneauth reads the token once more after it has released its lock."""
    session = keystone.service_session()
    login = session.auth
    assert isinstance(login, keystone._Login)
    dropping = threading.Thread(target=login.invalidate)

    class Lock:
        """Lets another thread drop the token as soon as keystoneauth has released its lock."""

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            dropping.start()
            dropping.join(0.5)

    login._lock = Lock()  # type: ignore[assignment]
    token = login.get_access(session)
    dropping.join()
    assert token.auth_token in cloud.keystone.tokens
    assert login.auth_ref is None
