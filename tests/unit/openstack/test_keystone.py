"""The session that all threads of a process share."""

import threading
from concurrent import futures

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from warre_blazar.openstack import keystone


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


def test_requests_at_the_same_time_are_bounded(cloud: Cloud, conf):
    conf.config(group="warre", service_connections=3)
    keystone.service_session.cache_clear()
    session = keystone.service_session()
    session.get_token()
    under_way, seen, lock = 0, [], threading.Lock()
    three = threading.Barrier(3)

    def serve(_: Request) -> None:
        nonlocal under_way
        with lock:
            under_way += 1
            seen.append(under_way)
        # Three come at the same time, so requests aren't sent one after the other.
        three.wait(30)
        with lock:
            under_way -= 1

    cloud.nova.fail(then=serve)

    def ask(_: int) -> int:
        return session.get(
            "/os-aggregates", endpoint_filter={"service_type": "compute"}
        ).status_code

    with futures.ThreadPoolExecutor(9) as pool:
        assert set(pool.map(ask, range(9))) == {200}
    assert max(seen) == 3
