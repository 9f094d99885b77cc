"""Registers compute hosts in Blazar. Running it again changes nothing."""

import json
import sys
from typing import Any

from connection import connect


def main(wanted: dict[str, Any]) -> None:
    cloud = connect(wanted["auth_url"], wanted["password"], wanted["region"])
    session = cloud.session
    url = cloud.endpoint_for("reservation") + "/os-hosts"
    known = {host["hypervisor_hostname"] for host in session.get(url).json()["hosts"]}
    for name in wanted["hosts"]:
        if name not in known:
            session.post(url, json={"name": name})
        print(f"{name}: {'registered already' if name in known else 'registered'}", flush=True)


if __name__ == "__main__":
    main(json.load(sys.stdin))
