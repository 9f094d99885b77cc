#!/usr/bin/python
"""Books, changes and deletes a reservation, which is found by its name."""

import datetime
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.warre.blazar.plugins.module_utils import reservations

DOCUMENTATION = """
module: reservation
short_description: Book, change or delete a reservation
description:
  - Makes sure that the project has a reservation with a name, or that it has none.
  - A reservation that is COMPLETE isn't found by its name, unless it has the wanted start. So a
    playbook that runs again after the end books nothing.
  - In check mode, the API says whether it would accept the booking or the change.
author: warre-blazar developers
options:
  name:
    description: The name of the reservation.
    type: str
    required: true
  state:
    description: Whether there is such a reservation.
    type: str
    choices: [present, absent]
    default: present
  flavor_id:
    description: The id or name of the flavor. It is needed to book, and can't change later.
    type: str
  start:
    description: The start in ISO 8601. It is needed to book. A time without an offset is in UTC.
    type: str
  end:
    description: The end, the first moment after the reservation. It is needed to book.
    type: str
  instance_count:
    description: The number of instances. One is booked by default.
    type: int
  note:
    description: A note for people. An empty text removes the note.
    type: str
  contact:
    description: The email address that messages go to. An empty text removes the address.
    type: str
  webhook:
    description: A URL that is called at the start and the end. An empty text removes the URL.
    type: str
  timezone:
    description: The time zone in which messages also show times. It can't change later.
    type: str
  before_end:
    description: What is done with the servers before the end. By default, the flavor decides.
    type: str
  movable_hours:
    description: By how many hours maintenance may move the start to a later time.
    type: int
  affinity:
    description:
      - Whether all instances are on one host (true), or each is on a host of its own (false).
      - It can't change later.
    type: bool
  handle:
    description:
      - A name for the Nova flavor. All reservations of the project with it have the same one.
      - It can't change later.
    type: str
  visible_before_start:
    description:
      - Whether the project sees the Nova flavor of a handle before the start.
      - It can't change later.
    type: bool
  project_id:
    description: The project for which to book. Another one than the user's needs a role in it.
    type: str
  wait:
    description: Wait until the reservation is ACTIVE, or until it is deleted.
    type: bool
    default: false
  timeout:
    description: For how many seconds to wait.
    type: int
    default: 600
extends_documentation_fragment: warre.blazar.connection
"""
EXAMPLES = """
- name: Book two instances for a day
  warre.blazar.reservation:
    cloud: mycloud
    name: sweep
    flavor_id: gpu.large
    start: "2027-01-04T09:00:00+00:00"
    end: "2027-01-05T09:00:00+00:00"
    instance_count: 2
  register: booked
"""
RETURN = """
reservation:
  description: The reservation, as the API shows it. In check mode, as it was before.
  returned: if there is a reservation
  type: dict
code:
  description: The API's code of the refusal.
  returned: if the API refuses the request
  type: str
detail:
  description: The API's data about the refusal, such as the next start that is free.
  returned: if the API refuses the request
  type: dict
"""
CHANGEABLE = {
    "start": {"type": "str"},
    "end": {"type": "str"},
    "instance_count": {"type": "int"},
    "note": {"type": "str"},
    "contact": {"type": "str"},
    "webhook": {"type": "str"},
    "before_end": {"type": "str"},
    "movable_hours": {"type": "int"},
}
FIXED = {
    "flavor_id": {"type": "str"},
    "timezone": {"type": "str"},
    "affinity": {"type": "bool"},
    "handle": {"type": "str"},
    "visible_before_start": {"type": "bool"},
    "project_id": {"type": "str"},
}
OTHERS = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "wait": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 600},
}
#: The client's arguments that have other names than the API's fields.
ARGUMENTS = {"flavor_id": "flavor", "instance_count": "count"}


def comparable(value):
    """A value in the form in which equal values are equal: times in UTC, no empty texts."""
    try:
        moment = datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None if value == "" else value
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    moment = moment.astimezone(datetime.UTC)
    return moment.replace(second=0, microsecond=0).isoformat()


def arguments(values):
    return {ARGUMENTS.get(name, name): value for name, value in values.items()}


class Booking:
    """The wanted reservation, and the one that there is."""

    def __init__(self, module, client):
        self.module, self.client = module, client
        self.name = module.params["name"]
        self.wanted = reservations.given(module, *CHANGEABLE, *FIXED)
        self.present = self.find()

    def find(self):
        """The reservation with the name, or None."""
        filters = reservations.given(self.module, "project_id")
        named = self.client.reservations.list(name=self.name, **filters)
        live = [each for each in named if each.status != "COMPLETE"]
        if len(live) > 1:
            ids = ", ".join(each.id for each in live)
            self.module.fail_json(msg=f"Several reservations are named {self.name!r}: {ids}")
        if live:
            return live[0]
        start = comparable(self.wanted.get("start"))
        return next((each for each in named if comparable(each.document["start"]) == start), None)

    def differing(self, reservation):
        """The wanted values that a reservation doesn't have."""
        flavor = reservation.document["flavor"]
        same_flavor = self.wanted.get("flavor_id") in (flavor["id"], flavor["name"])
        shown = {**reservation.document, "flavor_id": flavor["name"]}
        return {
            name: value
            for name, value in self.wanted.items()
            if not (name == "flavor_id" and same_flavor)
            and comparable(value) != comparable(shown.get(name))
        }

    def make_present(self):
        if self.present is None:
            return self.book()
        if self.present.status == "COMPLETE":
            return {"changed": False, "reservation": self.present.document}
        changes = self.differing(self.present)
        if fixed := [name for name in changes if name in FIXED]:
            self.module.fail_json(
                msg=f"{', '.join(fixed)} of reservation {self.present.id} can't change; delete the "
                "reservation first, or give another name"
            )
        if not changes:
            return self.waited({"changed": False, "reservation": self.present.document})
        before = {name: self.present.document.get(name) for name in changes}
        result = {"changed": True, "diff": {"before": before, "after": changes}}
        if self.module.check_mode:
            self.check(self.client.reservations.try_update(self.present.id, **arguments(changes)))
            return {**result, "reservation": self.present.document}
        changed = self.client.reservations.update(self.present.id, **arguments(changes))
        return self.waited({**result, "reservation": changed.document})

    def book(self):
        missing = [name for name in ("flavor_id", "start", "end") if name not in self.wanted]
        if missing:
            text = f"There is no reservation {self.name!r}. To book it, give {', '.join(missing)}"
            self.module.fail_json(msg=text)
        values = {"name": self.name, **self.wanted}
        result = {"changed": True, "diff": {"before": {}, "after": values}}
        if self.module.check_mode:
            self.check(self.client.reservations.try_create(**arguments(values)))
            return result
        made = self.client.reservations.create(**arguments(values))
        return self.waited({**result, "reservation": made.document})

    def check(self, foreseen):
        """Fail as the request itself would."""
        if not foreseen.bookable:
            first = foreseen.refusals[0]
            self.module.fail_json(msg=first.message, code=first.code)

    def waited(self, result):
        """Wait until the reservation of a result is ACTIVE, if that is asked for."""
        if self.module.params["wait"] and not self.module.check_mode:
            ends = time.monotonic() + self.module.params["timeout"]
            reached = self.client.reservations.wait(
                result["reservation"]["id"], tell=lambda seen: self.fail_after(ends, seen)
            )
            result["reservation"] = reached.document
        return result

    def fail_after(self, ends, reservation):
        if time.monotonic() >= ends and reservation.status != "ACTIVE":
            text = f"Reservation {reservation.id} is {reservation.status} after"
            self.module.fail_json(msg=f"{text} {self.module.params['timeout']} s")

    def make_absent(self):
        if self.present is None or self.present.status == "COMPLETE":
            return {"changed": False}
        shown = self.present.document
        result = {"changed": True, "diff": {"before": {"name": self.name}, "after": {}}}
        if self.module.check_mode or self.client.reservations.delete(self.present.id):
            return {**result, "reservation": shown}
        ends = time.monotonic() + self.module.params["timeout"]
        while self.module.params["wait"] and reservations.found(
            self.client.reservations, self.present.id
        ):
            self.fail_after(ends, self.present)
            time.sleep(2)
        return {**result, "reservation": shown}


def main():
    options = {**OTHERS, **CHANGEABLE, **FIXED, **reservations.CONNECTION}
    module = AnsibleModule(options, supports_check_mode=True)

    def act(client):
        booking = Booking(module, client)
        absent = module.params["state"] == "absent"
        return booking.make_absent() if absent else booking.make_present()

    reservations.run(module, act)


if __name__ == "__main__":
    main()
