"""The fields of addresses at which calendar programs read a project's reservations."""

from typing import ClassVar

from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import By, DeclaredAction, Field, Resource, Use
from warre_blazar.fields.kinds import ID, VALUE, Text, Time, or_null


class CalendarFields(Resource):
    """An address at which calendar programs read the reservations of a project."""

    noun, path, ref = "calendar", "calendars", "calendar_id"
    filters = ("all_projects",)
    actions: ClassVar = {
        "list": DeclaredAction(
            By.READER,
            "List the addresses that the caller has made for the project.",
            ("forbidden",),
        ),
        "list:all": DeclaredAction(
            By.ADMIN, rule="List and withdraw the addresses of all users, without their URLs."
        ),
        "create": DeclaredAction(
            By.READER,
            "Make an address at which calendar programs read the project's reservations without a "
            "token. A user has at most one address for a project.",
            ("calendar_exists", "forbidden"),
            rule="Make an address at which calendar programs read the project's reservations "
            "without a token. Whenever a program reads there, the rule is checked again, with the "
            "roles that Keystone lists for the user who has made the address.",
            status=201,
        ),
        "get": DeclaredAction(By.READER, "Show an address.", ("calendar_not_found",)),
        "delete": DeclaredAction(
            By.READER,
            "Withdraw an address. From then on, it answers 404.",
            ("calendar_not_found", "forbidden"),
        ),
    }

    id = Field(ID, "The calendar's id.", Use.READ_ONLY | Use.BRIEF)
    name = Field(
        Text(255, 1, kinds.CONTROL_OR_ENDS),
        "The name that calendar programs show.",
        Use.REQUIRED | Use.BRIEF,
    )
    url = Field(
        or_null(VALUE),
        "The address to subscribe to. Whoever knows it can read the calendar, so only the user who "
        "has made it gets it; for all others it is null.",
        Use.READ_ONLY | Use.BRIEF,
    )
    project_id = Field(VALUE, "The project whose reservations it shows.", Use.READ_ONLY)
    user_id = Field(VALUE, "The user who has made it, and may withdraw it.", Use.READ_ONLY)
    created_at = Field(Time(), "When it was made.", Use.READ_ONLY | Use.BRIEF)
