"""The fields of shares of reservations."""

from typing import ClassVar

from warre_blazar.fields.declaration import By, DeclaredAction, Field, Resource, Use
from warre_blazar.fields.kinds import ID, PROJECT_ID, VALUE, Time


class ShareFields(Resource):
    """The right of another project to boot servers on the places of a reservation."""

    noun, path, ref = "share", "shares", "share_id"
    filters = ("all_projects", "reservation_id")
    actions: ClassVar = {
        "list": DeclaredAction(
            By.READER,
            "List the shares that the project gives or has, the latest first.",
            ("forbidden",),
        ),
        "list:all": DeclaredAction(By.ADMIN, rule="List the shares of all projects."),
        "create": DeclaredAction(
            By.MEMBER,
            "Let another project boot servers on the places of a reservation that isn't over. It "
            "sees the reservation, and can't change it. The quota and the usage stay the owner's. "
            "While the reservation runs, a new share takes effect within a minute.",
            ("forbidden", "invalid_state", "reservation_not_found", "share_exists"),
            status=201,
        ),
        "get": DeclaredAction(By.READER, "Show a share.", ("share_not_found",)),
        "delete": DeclaredAction(
            By.MEMBER,
            "End a share. The other project can boot no more servers within a minute. Those that "
            "it has stay until the reservation ends.",
            ("forbidden", "share_not_found", "try_again"),
        ),
    }

    id = Field(ID, "The share's id.", Use.READ_ONLY | Use.BRIEF)
    reservation_id = Field(ID, "The reservation's id.", Use.REQUIRED | Use.BRIEF)
    project_id = Field(
        PROJECT_ID, "The id of the project that may boot servers.", Use.REQUIRED | Use.BRIEF
    )
    owner_id = Field(
        VALUE, "The id of the project that has booked the reservation.", Use.READ_ONLY | Use.BRIEF
    )
    created_at = Field(Time(), "When the reservation was shared.", Use.READ_ONLY)
