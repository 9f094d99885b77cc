#!/usr/bin/python
"""Lists flavors that can be booked."""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.warre.blazar.plugins.module_utils import reservations

DOCUMENTATION = """
module: reservation_flavor_info
short_description: List flavors that can be booked
description:
  - Lists the flavors that the project may book.
author: warre-blazar developers
options:
  name:
    description: The id or name of one flavor. Nothing is returned if there is none.
    type: str
  category:
    description: List only flavors of a category.
    type: str
  availability_zone:
    description: List only flavors of an availability zone.
    type: str
  all_projects:
    description: List the flavors of all projects. This is for operators.
    type: bool
    default: false
extends_documentation_fragment: warre.blazar.connection
"""
EXAMPLES = """
- name: Find the GPU flavors
  warre.blazar.reservation_flavor_info:
    cloud: mycloud
    category: gpu
  register: found
"""
RETURN = """
flavors:
  description: The flavors, as the API shows them.
  returned: success
  type: list
  elements: dict
"""


def main():
    options = {
        "name": {"type": "str"},
        "category": {"type": "str"},
        "availability_zone": {"type": "str"},
        "all_projects": {"type": "bool", "default": False},
    }
    module = AnsibleModule({**options, **reservations.CONNECTION}, supports_check_mode=True)

    def act(client):
        name = module.params["name"]
        if name is not None:
            return {"flavors": reservations.found(client.flavors, name)}
        filters = reservations.given(module, "category", "availability_zone", "all_projects")
        return {"flavors": [each.document for each in client.flavors.list(**filters)]}

    reservations.run(module, act)


if __name__ == "__main__":
    main()
