#!/usr/bin/python
"""Lists reservations."""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.warre.blazar.plugins.module_utils import reservations

DOCUMENTATION = """
module: reservation_info
short_description: List reservations
description:
  - Lists the reservations of the project, ordered by start.
author: warre-blazar developers
options:
  id:
    description: The id of one reservation. Nothing is returned if there is none.
    type: str
  name:
    description: List only reservations with a name.
    type: str
  status:
    description: List only reservations with one of these statuses.
    type: list
    elements: str
  flavor_id:
    description: List only reservations of a flavor.
    type: str
  since:
    description: List only reservations that end after this time.
    type: str
  until:
    description: List only reservations that start before this time.
    type: str
  all_projects:
    description: List the reservations of all projects. This is for operators.
    type: bool
    default: false
extends_documentation_fragment: warre.blazar.connection
"""
EXAMPLES = """
- name: Find what runs
  warre.blazar.reservation_info:
    cloud: mycloud
    status: [ACTIVE]
  register: running
"""
RETURN = """
reservations:
  description: The reservations, as the API shows them.
  returned: success
  type: list
  elements: dict
"""


def main():
    options = {
        "id": {"type": "str"},
        "name": {"type": "str"},
        "status": {"type": "list", "elements": "str"},
        "flavor_id": {"type": "str"},
        "since": {"type": "str"},
        "until": {"type": "str"},
        "all_projects": {"type": "bool", "default": False},
    }
    module = AnsibleModule({**options, **reservations.CONNECTION}, supports_check_mode=True)

    def act(client):
        reservation_id = module.params["id"]
        if reservation_id is not None:
            return {"reservations": reservations.found(client.reservations, reservation_id)}
        filters = reservations.given(module, *(name for name in options if name != "id"))
        return {"reservations": [each.document for each in client.reservations.list(**filters)]}

    reservations.run(module, act)


if __name__ == "__main__":
    main()
