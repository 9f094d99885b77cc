"""Prints how many hosts are registered in Blazar."""

import json
import sys

from connection import connect


def main(login: dict[str, str]) -> None:
    cloud = connect(login["auth_url"], login["password"], login["region"])
    url = cloud.endpoint_for("reservation") + "/os-hosts"
    print(len(cloud.session.get(url).json()["hosts"]))


if __name__ == "__main__":
    main(json.load(sys.stdin))
