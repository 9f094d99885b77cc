"""Commands that change what they have shown: what somebody else has changed since then stays."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, RESERVATION, Api, error, flavor, reservation
from tests.unit.client.test_resources import WINDOW
from warre_blazar.cli import flavors, maintenance_windows, reservations
from warre_blazar.cli.failure import Failure

TAG = {"ETag": '"end=0123456789"'}
R_PATH = f"/v2/reservations/{RESERVATION.id}"
F_PATH = f"/v2/flavors/{FLAVOR.id}"
W_PATH = f"/v2/maintenancewindows/{WINDOW['id']}"
NOON = ("--end", "2026-12-01 12:00")

#: Commands, their arguments, the path of what they change, and whether they show it before.
COMMANDS: list[tuple[Any, list[str], str, bool]] = [
    (reservations.UpdateReservation, [RESERVATION.id, *NOON], R_PATH, True),
    (reservations.UpdateReservation, [RESERVATION.id, "--count", "3"], R_PATH, True),
    (reservations.UpdateReservation, [RESERVATION.id, "--note", "x"], R_PATH, False),
    (flavors.UpdateFlavor, [FLAVOR.id, "--extra-spec", "a=b"], F_PATH, True),
    (flavors.UpdateFlavor, [FLAVOR.id, "--slots", "3"], F_PATH, False),
    (maintenance_windows.UpdateWindow, [WINDOW["id"], "--hours", "5"], W_PATH, True),
    (maintenance_windows.UpdateWindow, [WINDOW["id"], "--note", "x"], W_PATH, False),
]


@pytest.fixture
def answered(api: Api) -> None:
    for path, document in ((R_PATH, reservation()), (F_PATH, flavor()), (W_PATH, WINDOW)):
        api.answers[f"GET {path}"] = Answer(200, document, TAG)
        api.answers[f"PATCH {path}"] = Answer(200, document)


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize(("command", "words", "path", "shows"), COMMANDS)
def test_command_sends_the_etag_of_what_it_has_shown(
    api: Api, run: Run, answers: Callable[[str], None], command, words, path, shows
) -> None:
    answers("y")
    run(command, *words)
    sent = api.seen[-1]
    assert sent.line == f"PATCH {path}"
    assert sent.headers.get("if-match") == (TAG["ETag"] if shows else None)


@pytest.mark.usefixtures("answered")
def test_command_prints_both_values_of_what_somebody_else_has_changed(
    api: Api, run: Run, answers: Callable[[str], None]
) -> None:
    answers("y")
    fields = {
        "end": {"now": "2026-12-01T13:00:00+00:00", "sent": "2026-12-01T11:00:00+00:00"},
        "instance_count": {"now": 1, "sent": 3},
        "note": {"now": "theirs", "sent": None},
    }
    text = (
        "Changed by somebody else since you have seen it: end, instance_count, note; nothing was "
        "written. Look again, and repeat what you still want"
    )
    api.answers[f"PATCH {R_PATH}"] = error(412, text, "changed_since_shown", fields=fields)
    with pytest.raises(Failure) as refused:
        run(reservations.UpdateReservation, RESERVATION.id, *NOON, "--timezone", "Europe/Berlin")
    assert str(refused.value) == (
        f"{text}:\n"
        "  end: now 2026-12-01 14:00 +01:00, you asked for 2026-12-01 12:00 +01:00\n"
        "  instance_count: now 1, you asked for 3\n"
        '  note: now "theirs", you asked for nothing\n'
        "openstack reservation show shows all present values"
    )


@pytest.mark.usefixtures("answered")
def test_extra_specs_that_somebody_else_has_changed_are_shown(api: Api, run: Run) -> None:
    fields = {"extra_specs": {"now": {"a": "c"}, "sent": {"a": "b"}}}
    api.answers[f"PATCH {F_PATH}"] = error(412, "Changed", "changed_since_shown", fields=fields)
    with pytest.raises(Failure) as refused:
        run(flavors.UpdateFlavor, FLAVOR.id, "--extra-spec", "a=b")
    assert 'extra_specs: now {"a": "c"}, you asked for {"a": "b"}' in str(refused.value)
    assert str(refused.value).endswith("openstack reservation flavor show shows all present values")
