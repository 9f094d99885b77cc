"""Prints how many hosts are registered in Blazar."""

import json
import sys

from connection import connect


def main(login: dict[str, str]) -> None:
    session = connect(login["auth_url"], login["password"], login["region"]).session
    url = session.get_endpoint(service_type="reservation", region_name=login["region"]) + "/os-hosts"
    print(len(session.get(url).json()["hosts"]))


if __name__ == "__main__":
    main(json.load(sys.stdin))
