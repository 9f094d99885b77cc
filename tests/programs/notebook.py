"""Does what notebooks do with python-chi. It runs in the environment of the programs.

It reads one request from each line of its input, in JSON, and writes one line for each: what it has
got. Its argument is the URL of Keystone.
"""

import datetime
import io
import json
import logging
import sys
from typing import Any

import requests
from chi import context, exception, lease, server
from keystoneauth1 import access, session
from keystoneauth1.identity import access as with_token

END = datetime.datetime(2100, 1, 1, 17, 7)


def log_in(keystone: str) -> None:
    """Use a user's token. The fake Keystone doesn't let users log in."""
    headers = dict.fromkeys(("X-Auth-Token", "X-Subject-Token"), "token-alpha")
    known = requests.get(f"{keystone}/v3/auth/tokens", headers=headers, timeout=60).json()
    login = with_token.AccessInfoPlugin(access.AccessInfoV3(known, "token-alpha"))
    context._session = session.Session(login)
    context.version = "1.2"


def book(called: str, amount: int = 1, **flavor: str) -> dict[str, Any]:
    wanted = lease.Lease(called, end_date=END)
    wanted.add_flavor_reservation(amount=amount, **flavor)
    logged = logging.StreamHandler(io.StringIO())
    logging.getLogger().addHandler(logged)
    try:
        wanted.submit(idempotent=True)
    except exception.ResourceError as error:
        return {"error": str(error), "logged": logged.stream.getvalue()}
    return {"id": wanted.id, "status": wanted.status, "created": str(wanted.created_at)}


def read(name: str) -> dict[str, Any]:
    found = lease.get_lease(name)
    return {
        "id": found.id,
        "listed": [each.name for each in lease.list_leases()],
        "reserved": [(each.id, each.name) for each in found.get_reserved_flavors()],
        "offered": [each.name for each in server.list_flavors(reservable=True)],
    }


def delete(name: str) -> dict[str, Any]:
    lease.get_lease(name).delete()
    return {"listed": [each.name for each in lease.list_leases()]}


if __name__ == "__main__":
    log_in(sys.argv[1])
    # What python-chi prints isn't an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        answer = {"book": book, "read": read, "delete": delete}[asked.pop("do")](**asked)
        print(json.dumps(answer), file=answers, flush=True)
