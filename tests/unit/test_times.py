"""The page of times: its times fit together, and the manual and the options have the same ones."""

import datetime
import importlib.util
import math
import pathlib
import types

import pytest
from oslo_config import cfg
from oslo_messaging import opts as messaging_opts

import warre_blazar
from tests.time_numbers import SPOKEN
from warre_blazar import times
from warre_blazar.conf import enforcement, messages, warre

DOC = pathlib.Path(warre_blazar.__file__).parents[1] / "doc/source"
EXTENSION = DOC / "_ext/times_table.py"
PAGE = DOC / "reference/times.rst"
PAGES = ["times", "client.times", "cli.times", "dashboard.times"]

Length = float | datetime.timedelta


def seconds(value: Length) -> float:
    return value / times.SECOND if isinstance(value, datetime.timedelta) else value


def default_of_messaging(name: str) -> float:
    """The default of an option of oslo.messaging, in seconds."""
    options = {option.name: option for _, each in messaging_opts.list_opts() for option in each}
    return float(options[name].default)


ANSWER = default_of_messaging("rpc_response_timeout")


@pytest.mark.parametrize(
    ("less", "more"),
    [
        pytest.param(5 * times.BEAT_EVERY, times.DEAD_AFTER, id="some heartbeats may be late"),
        pytest.param(times.DEAD_AFTER, times.MANAGER_FORGOTTEN_AFTER, id="the dead are known"),
        pytest.param(times.CLAIM_EVERY, times.END_LEAD, id="an end is claimed before it is due"),
        pytest.param(times.END_LEAD, times.START_LEAD, id="a start takes longer to prepare"),
        pytest.param(times.START_LEAD, times.FREE_WITHIN, id="a change outlasts a start"),
        pytest.param(
            times.RETRY_LONGEST_PAUSE, times.EVENT_POSTPONED_FOR, id="a repeated start isn't wrong"
        ),
        pytest.param(
            times.RETRY_LONGEST_PAUSE,
            times.OVERDUE_IN_AUDIT_AFTER,
            id="audits let managers retry",
        ),
        pytest.param(
            times.LEFT_TO_OTHER_MANAGER, times.ANSWER_MAY_BE_LATE, id="a late answer is noted"
        ),
        pytest.param(times.REQUEST_TIMEOUT, times.ANSWER_MAY_BE_LATE, id="an answer can be late"),
        pytest.param(
            seconds(times.LEFT_TO_OTHER_MANAGER) + times.MAKE_AHEAD_EVERY,
            times.MADE_AHEAD,
            id="another manager makes the backing in time",
        ),
        pytest.param(
            times.LATE_SERVERS_DELETED_EVERY + seconds(times.NOVA_DELETION_FAILED_AFTER),
            times.LATE_SERVERS_WITHIN,
            id="a late server is deleted again",
        ),
        pytest.param(times.RECONCILE_EVERY, times.AUDIT_LEAVES_ENDED, id="first reconciled"),
        pytest.param(times.SERVER_DELETION_TIMEOUT, ANSWER, id="an end is answered"),
        pytest.param(ANSWER, times.BOOKING_SERIES_DEAD_AFTER, id="a series waits for the manager"),
        pytest.param(
            2 * times.WEBHOOK_TIMEOUT_LIMIT, times.SENT_WITHIN, id="webhooks keep their time"
        ),
        pytest.param(times.SMTP_TIMEOUT, times.SMTP_TIMEOUT_LIMIT, id="smtp_timeout"),
        pytest.param(times.WEBHOOK_TIMEOUT, times.WEBHOOK_TIMEOUT_LIMIT, id="webhook_timeout"),
        pytest.param(times.USAGE_SAMPLED_EVERY, times.USAGE_INTERVAL_LIMIT, id="usage_interval"),
        pytest.param(max(times.REMINDERS), times.REMINDER_LIMIT, id="remind_hours"),
        pytest.param(times.HOUR, times.MESSAGE_COUNTS_KEPT, id="an hour's messages are counted"),
        pytest.param(
            times.NOTICE_LONGEST_PAUSE, times.NOTICE_GIVEN_UP_AFTER, id="a notice is tried again"
        ),
        pytest.param(
            times.SETTLING_HOSTS_READ_EVERY, times.HOSTS_READ_EVERY, id="settling hosts are sooner"
        ),
        pytest.param(times.SETTLING_HOSTS_READ_EVERY, times.HOST_SETTLES_FOR, id="hosts settle"),
        pytest.param(times.USER_JUST_READ, times.USER_KNOWN_FOR, id="just read"),
        pytest.param(times.PROBED_EVERY, times.SEEN_WITHIN, id="what is awaited is looked for"),
        pytest.param(times.SNAPSHOTS_EVERY, times.BEFORE_END, id="snapshots are begun in time"),
    ],
)
def test_times_fit_together(less: Length, more: Length) -> None:
    assert seconds(less) < seconds(more)


def test_manager_may_be_silent_while_it_sends_a_message() -> None:
    assert times.TURN_LOST_AFTER >= times.TURN_RENEWED_AFTER + times.SENT_WITHIN


@pytest.mark.parametrize(("failed", "seconds"), [(0, 2), (1, 4), (3, 16), (5, 60), (5000, 60)])
def test_pause_doubles_up_to_the_longest(failed: int, seconds: int) -> None:
    pause = times.doubled(2 * times.SECOND, failed, times.MINUTE)
    assert pause == seconds * times.SECOND


@pytest.fixture(scope="module")
def tables() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("times_table", EXTENSION)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES)
def test_every_time_is_in_the_table(tables: types.ModuleType, page: str) -> None:
    module = importlib.import_module(f"warre_blazar.{page}")
    declared = [name for name in vars(module) if name.isupper()]
    assert [entry.name for entry in tables.entries(module)] == declared


@pytest.mark.parametrize("page", PAGES)
def test_every_time_is_explained(tables: types.ModuleType, page: str) -> None:
    for entry in tables.entries(importlib.import_module(f"warre_blazar.{page}")):
        assert entry.section, entry.name
        is_unit = entry.section == "Units"
        texts = [entry.text, *([] if is_unit else [entry.longer, entry.shorter])]
        assert all(text.endswith(".") and "  " not in text for text in texts), entry.name


@pytest.mark.parametrize("page", PAGES)
def test_manual_prints_the_table(page: str) -> None:
    assert f".. times-table:: warre_blazar.{page}\n" in PAGE.read_text()


OPTIONS = {
    f"[{group}] {option.name}": option
    for group, options in (
        (warre.GROUP, warre.OPTS),
        (messages.GROUP, messages.OPTS),
        (enforcement.GROUP, enforcement.CREDITS),
    )
    for option in options
}


def unit_of(option: cfg.Opt) -> datetime.timedelta:
    """The unit of an option's value, which its name or else its help says."""
    said = SPOKEN.search(f"{option.name.replace('_', ' ')}. {option.help}")
    assert said is not None
    return datetime.timedelta(**{said[0].lower(): 1})


def test_every_option_that_is_a_time_is_in_the_table(tables: types.ModuleType) -> None:
    named = {entry.option.strip("`"): entry.name for entry in tables.entries(times) if entry.option}
    of_time = {
        name
        for name, option in OPTIONS.items()
        if isinstance(option, cfg.IntOpt | cfg.ListOpt) and SPOKEN.search(f"{option.help}")
    }
    assert named.keys() == of_time


def test_default_of_an_option_is_that_of_the_table(tables: types.ModuleType) -> None:
    for entry in tables.entries(times):
        if entry.option:
            option = OPTIONS[entry.option.strip("`")]
            default = option.default if isinstance(option.default, list) else [option.default]
            value = entry.value if isinstance(entry.value, tuple) else (entry.value,)
            assert [each * unit_of(option) for each in default] == list(value)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("A", 20, "20 seconds"),
        ("A", 1, "1 second"),
        ("A", 0.25, "0.25 seconds"),
        ("A", 3600, "1 hour"),
        ("A", 90, "90 seconds"),
        ("A", 86400, "1 day"),
        ("A", datetime.timedelta(minutes=10), "10 minutes"),
        ("A", datetime.timedelta(days=365), "365 days"),
        ("A", datetime.timedelta(0), "0 seconds"),
        ("A", datetime.timedelta(hours=-1), "-1 hour"),
        ("A", (datetime.timedelta(days=1), datetime.timedelta(hours=1)), "1 day, 1 hour"),
        ("SERIES_YEARS", 5, "5 years"),
        ("SLOT_USE_DAYS", (0, 1), "0 days, 1 day"),
        ("A", (0.5, math.inf), "0.5 seconds, any time"),
    ],
)
def test_value_is_shown_in_its_unit(
    tables: types.ModuleType, name: str, value: object, text: str
) -> None:
    assert tables.shown(name, value) == text


def test_fields_of_a_comment_are_read(tables: types.ModuleType) -> None:
    source = (
        '"""Times."""\n\n# Some\n\n#: What it\n#: is.\n#: :longer: It\n#:     lasts.\n'
        "#: :shorter: It ends.\n#: :option: ``[a] b``\nA = 5\nB: int = 6\n"
    )
    module = types.ModuleType("some")
    exec(source, vars(module))
    first, second = tables.entries(module, source)
    texts = ("What it is.", "It lasts.", "It ends.", "``[a] b``")
    assert first == tables.Entry("A", 5, "Some", *texts)
    assert second == tables.Entry("B", 6, "Some", "", "", "", "")
