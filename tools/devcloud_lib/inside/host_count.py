"""Prints how many hosts are registered in Blazar."""

import json
import sys

from connection import connect


def main(login: dict[str, str]) -> None:
    region = login["region"]
    session = connect(login["auth_url"], login["password"], region).session
    url = session.get_endpoint(service_type="reservation", region_name=region) + "/os-hosts"
    print(len(session.get(url).json()["hosts"]))


if __name__ == "__main__":
    main(json.load(sys.stdin))
