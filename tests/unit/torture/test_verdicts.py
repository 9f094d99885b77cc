"""The judge of the campaign: which answers are failures, and how much memory may grow."""

import pytest

from tests.torture.answers import Answer
from tests.torture.members import Request
from tests.torture.verdicts import JUDGED_FROM, Process, Verdicts, family

REQUEST = Request("POST /v1/leases", "POST", "/v1/leases", {"name": "x"})
MANAGER, WORKER = Process("blazar-manager1", 7, 100), Process("blazar-api", 8, 100)


def answer(status: int, retry_after: str | None = None) -> Answer:
    return Answer(status, None, "code", retry_after)


@pytest.fixture
def verdicts() -> Verdicts:
    return Verdicts()


@pytest.mark.parametrize("status", [200, 201, 204, 400, 401, 403, 404, 409, 413, 422])
def test_answer_below_500_is_right(verdicts: Verdicts, status: int):
    verdicts.judge(REQUEST, answer(status), 0.0, 1.0)
    assert verdicts.failures == {}


@pytest.mark.parametrize("status", [500, 501, 502, 504])
def test_answer_of_a_broken_service_is_wrong_even_after_a_kill(verdicts: Verdicts, status: int):
    verdicts.killed(0.0)
    verdicts.judge(REQUEST, answer(status, "10"), 1.0, 2.0)
    ((wrong, (text,)),) = verdicts.failures.items()
    assert wrong == f"status {status}"
    assert text == "POST /v1/leases {'name': 'x'}: " + f"{status} code after 1.0 s"


def test_request_without_an_answer_is_wrong(verdicts: Verdicts):
    verdicts.judge(REQUEST, Answer(0, None, "gave up waiting"), 0.0, 1.0)
    assert list(verdicts.failures) == ["no answer: gave up waiting"]


@pytest.mark.parametrize(
    ("kills", "began", "ended", "is_right"),
    [
        pytest.param([], 100, 101, False, id="no kill"),
        pytest.param([90], 100, 101, True, id="sent soon after"),
        pytest.param([70], 100, 101, True, id="sent at the last moment"),
        pytest.param([69], 100, 101, False, id="sent too long after"),
        pytest.param([101], 100, 160, True, id="killed meanwhile"),
        pytest.param([161], 100, 160, False, id="killed afterwards"),
        pytest.param([10, 90, 500], 100, 101, True, id="one of several"),
    ],
)
def test_503_is_right_only_near_a_kill(
    verdicts: Verdicts, kills: list[float], began: float, ended: float, is_right: bool
):
    for kill in kills:
        verdicts.killed(kill)
    verdicts.judge(REQUEST, answer(503, "10"), began, ended)
    assert list(verdicts.failures) == (
        [] if is_right else ["503 without a kill in the 30 s before"]
    )


@pytest.mark.parametrize("header", [None, "", "soon"])
def test_503_without_a_time_to_retry_is_wrong(verdicts: Verdicts, header: str | None):
    verdicts.killed(0.0)
    verdicts.judge(REQUEST, answer(503, header), 1.0, 2.0)
    assert list(verdicts.failures) == ["503 without Retry-After"]


@pytest.mark.parametrize(
    ("end", "requests", "is_right"),
    [
        pytest.param({MANAGER: 110 << 20}, JUDGED_FROM, True, id="a tenth more"),
        pytest.param({MANAGER: 111 << 20}, JUDGED_FROM, False, id="more than a tenth"),
        pytest.param({MANAGER: 900 << 20}, JUDGED_FROM - 1, True, id="too few requests"),
        pytest.param({MANAGER: 50 << 20}, JUDGED_FROM, True, id="less"),
        pytest.param({WORKER: 900 << 20}, JUDGED_FROM, True, id="another process"),
        pytest.param({Process("blazar-manager1", 7, 200): 900 << 20}, JUDGED_FROM, True, id="new"),
    ],
)
def test_memory_may_grow_by_a_tenth(
    verdicts: Verdicts, end: dict[Process, int], requests: int, is_right: bool
):
    lines = verdicts.judge_memory({MANAGER: 100 << 20}, end, requests)
    assert list(verdicts.failures) == ([] if is_right else ["memory grows"])
    assert len(lines) == (MANAGER in end)


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        pytest.param(130, [], id="one process catches up"),
        pytest.param(131, ["memory grows"], id="the service grows"),
    ],
)
def test_processes_of_a_service_are_judged_together(
    verdicts: Verdicts, late: int, expected: list[str]
):
    early, later = Process("blazar-api", 8, 100), Process("blazar-api", 9, 100)
    half = {early: 200 << 20, later: 100 << 20}
    verdicts.judge_memory(half, {early: 200 << 20, later: late << 20}, JUDGED_FROM)
    assert list(verdicts.failures) == expected


def test_requests_are_counted_by_family_and_status(verdicts: Verdicts):
    for status in (200, 200, 404):
        verdicts.judge(REQUEST, answer(status), 0.0, 1.0)
    for number in range(5):
        verdicts.judge(REQUEST, answer(500), number, number + 1.0)
    assert verdicts.lines()[:5] == [
        "8 requests:",
        "  /v1/leases                       200 x2, 404 x1, 500 x5",
        "5 failures",
        "  5 x status 500",
        "    POST /v1/leases {'name': 'x'}: 500 code after 1.0 s",
    ]
    assert len(verdicts.lines()) == 4 + 3


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/leases", "/v1/leases"),
        ("/v1/leases/7", "/v1/leases/..."),
        ("/v2/reservations/7/extensions?x=/1", "/v2/reservations/.../extensions"),
        ("/v2/warre/v1/flavors/7/freeslots", "/v2/warre/v1/flavors/.../freeslots"),
        ("/v2/warre/v1/flavors", "/v2/warre/v1/flavors"),
        ("/", "/"),
    ],
)
def test_family_has_no_ids(path: str, expected: str):
    assert family(path) == expected
