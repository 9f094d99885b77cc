"""Which notices become messages, and how messages show times and names."""

import datetime
from typing import Any

import pytest

from warre_blazar.domain.messages import messages
from warre_blazar.domain.messages.messages import WantedMessages
from warre_blazar.domain.messages.notices import Kind, News, Notice

NOW = datetime.datetime(2100, 1, 1, 12)
HOUR = datetime.timedelta(hours=1)
ALL = WantedMessages(frozenset(kind.value for kind in Kind), own_changes=False)


def notice(kind: Kind, by: str | None = "owner", **content: Any) -> Notice:
    usual = {
        "user_id": "owner",
        "status": "ACTIVE",
        "start": "2100-01-01T11:00:00+00:00",
        "end": "2100-01-01T13:00:00+00:00",
    }
    return Notice(1, "r", News(kind, NOW, by), {**usual, **content})


@pytest.mark.parametrize(
    ("told", "is_told"),
    [
        pytest.param(notice(Kind.CREATED), True, id="own booking"),
        pytest.param(notice(Kind.STARTED, None), True, id="start"),
        pytest.param(notice(Kind.RESCHEDULED), False, id="own change"),
        pytest.param(notice(Kind.RESCHEDULED, "admin"), True, id="somebody else's change"),
        pytest.param(notice(Kind.RESIZED, None), True, id="nobody's change"),
        pytest.param(notice(Kind.DELETED), False, id="own deletion"),
        pytest.param(notice(Kind.DELETED, None), True, id="nobody's deletion"),
        pytest.param(
            notice(Kind.DELETED, "admin", end="2100-01-01T12:00:00+00:00"),
            False,
            id="deletion of what has ended",
        ),
        pytest.param(notice(Kind.REMINDED, None), True, id="reminder"),
        pytest.param(
            notice(Kind.REMINDED, None, end="2100-01-01T12:00:00+00:00"),
            False,
            id="reminder that is sent too late",
        ),
        pytest.param(notice(Kind.MOVED, None), True, id="move while running"),
        pytest.param(notice(Kind.MOVED, None, status="ALLOCATED"), False, id="move before start"),
    ],
)
def test_which_notices_are_told(told: Notice, is_told: bool):
    assert ALL.is_told(told, NOW) is is_told


def snapshots(*of: tuple[str | None, str]) -> Notice:
    made = [{"server": server, "status": status} for server, status in of]
    return Notice(1, "r", News(Kind.SNAPSHOT, NOW, after={"snapshots": made}), {"user_id": "owner"})


@pytest.mark.parametrize(
    ("told", "is_told"),
    [
        pytest.param(snapshots(("a", "saved"), ("b", "saved")), False, id="all are saved"),
        pytest.param(snapshots(("a", "saved"), ("b", "failed")), True, id="a server isn't saved"),
        pytest.param(snapshots((None, "failed")), True, id="servers aren't known"),
        pytest.param(snapshots(("a", "failed"), ("a", "saved")), False, id="saved later"),
        pytest.param(snapshots(("a", "saved"), ("a", "failed")), True, id="only saved earlier"),
    ],
)
def test_snapshots_are_told_if_a_server_was_not_saved(told: Notice, is_told: bool):
    assert ALL.is_told(told, NOW) is is_told


def test_site_chooses_what_is_told():
    wanted = WantedMessages(frozenset({"deleted"}), own_changes=True)
    assert wanted.is_told(notice(Kind.DELETED), NOW)
    assert not wanted.is_told(notice(Kind.CREATED), NOW)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        (None, "Thu 31 Dec 2026, 23:30 UTC"),
        ("Europe/London", "Thu 31 Dec 2026, 23:30 UTC (23:30 in Europe/London)"),
        ("Australia/Sydney", "Thu 31 Dec 2026, 23:30 UTC (Fri 1 Jan, 10:30 in Australia/Sydney)"),
        ("Nowhere/Else", "Thu 31 Dec 2026, 23:30 UTC"),
        ("../etc/passwd", "Thu 31 Dec 2026, 23:30 UTC"),
    ],
)
def test_times_are_shown_in_utc_and_in_the_zone(zone: str | None, text: str):
    assert messages.shown_time("2026-12-31T23:30:00+00:00", zone) == text
    assert messages.shown_time(datetime.datetime(2026, 12, 31, 23, 30), zone) == text


def test_time_at_the_end_of_the_calendar_is_shown_in_utc():
    last = datetime.datetime(9999, 12, 31, 23, 59)
    assert messages.shown_time(last, "Asia/Tokyo") == "Fri 31 Dec 9999, 23:59 UTC"


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "5 minutes"),
        (24, "25 minutes"),
        (59.5, "1 hour"),
        (60 * 24 - 1, "24 hours"),
        (60 * 72, "3 days"),
    ],
)
def test_lengths_are_rounded(minutes: float, text: str):
    assert messages.shown_length(datetime.timedelta(minutes=minutes)) == text


def test_name_can_not_add_a_line_or_hide_anything():
    assert messages.one_line("a\r\nBcc: b\u2028c\u202ed\x00 ") == "a Bcc: b c d"


def test_command_to_extend():
    latest = datetime.datetime(2026, 12, 1, 9)
    assert messages.extension("r", latest) == (
        "openstack reservation set r --end 2026-12-01T09:00Z"
    )
    assert messages.extension("r", None).endswith("--end END")
