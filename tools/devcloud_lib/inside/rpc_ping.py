"""Pings servers on the message bus until all of them have answered.

Usage: rpc_ping.py SECONDS TRANSPORT_URL EXCHANGE/TOPIC/SERVER ...
Servers that don't answer within that time are printed on standard error, one on each line. The
exit status is then 1.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import oslo_messaging as messaging
from oslo_config import cfg

# Short, and then repeated, because a ping to a queue that doesn't exist yet is lost.
_PING_TIMEOUT = 2


def main(seconds: float, url: str, servers: list[str]) -> int:
    deadline = time.monotonic() + seconds
    cfg.CONF([], project="ping", default_config_files=[])
    transport = messaging.get_rpc_transport(cfg.CONF, url=url)
    with ThreadPoolExecutor(len(servers)) as pool:
        answers = list(pool.map(lambda name: ping(transport, name, deadline), servers))
    silent = [name for name, answered in zip(servers, answers, strict=True) if not answered]
    for name in silent:
        print(name, file=sys.stderr)
    return 1 if silent else 0


def ping(transport: messaging.Transport, name: str, deadline: float) -> bool:
    """Whether a server answers before the deadline."""
    exchange, topic, server = name.split("/")
    target = messaging.Target(exchange=exchange, topic=topic, server=server)
    client = messaging.get_rpc_client(transport, target, timeout=_PING_TIMEOUT)
    while time.monotonic() < deadline:
        try:
            client.call({}, "oslo_rpc_server_ping")
        except messaging.MessagingTimeout:
            continue
        except messaging.MessageDeliveryFailure:
            time.sleep(0.2)
        else:
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2], sys.argv[3:]))
