"""Flavor commands: what they ask and what they print."""

from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing
from warre_blazar.cli import flavors

_NEEDED = ["--vcpu", "4", "--memory-mb", "8192", "--disk-gb", "30", "--slots", "2"]
_NEEDED += ["--max-length-hours", "24"]
_NEEDED_BODY = {
    "name": "f",
    "vcpu": 4,
    "memory_mb": 8192,
    "disk_gb": 30,
    "slots": 2,
    "max_length_hours": 24,
}


def test_list_as_a_table(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor(), flavor(id="other", name="b"))
    lines = run(flavors.ListFlavors).splitlines()
    names = "id name vcpu memory_mb disk_gb slots max_length_hours category"
    assert lines[1].replace("|", " ").split() == names.split()
    assert lines[3].replace("|", " ").split() == f"{FLAVOR.id} gpu.large 4 8192 30 2 24 gpu".split()
    assert len(lines) == 6
    assert api.seen[0].query == {}


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        (["--all"], {"all_projects": "true"}),
        (["--category", "a&b"], {"category": "a&b"}),
        (["--availability-zone", "z"], {"availability_zone": "z"}),
    ],
)
def test_list_filters(api: Api, run: Run, arguments: list[str], query: dict[str, str]) -> None:
    api.answers["GET /v2/flavors"] = listing()
    run(flavors.ListFlavors, *arguments)
    assert api.seen[0].query == query


def test_list_all_tells_what_may_be_hidden(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor(active=False, is_public=False))
    (row,) = run_json(flavors.ListFlavors, "--all")
    assert (row["active"], row["is_public"]) == (False, False)


def test_list_long_has_everything(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    assert run_json(flavors.ListFlavors, "--long") == [flavor()]
    assert "hw:a='1', trait:B='required'" in run(flavors.ListFlavors, "--long")
    some = run(flavors.ListFlavors, "--long", "-f", "value", "-c", "name", "-c", "active")
    assert some == "gpu.large True\n"


def test_show(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    assert run_json(flavors.ShowFlavor, "gpu.large") == flavor()
    assert "| hw:a='1', trait:B='required'" in run(flavors.ShowFlavor, "gpu.large")


def test_what_a_newer_api_says_is_shown(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors/a"] = Answer(200, flavor(colour="red"))
    assert run_json(flavors.ShowFlavor, "a")["colour"] == "red"


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        pytest.param([], {}, id="what is needed"),
        pytest.param(
            ["--extra-spec", "a=1=2", "--extra-spec", "resources:VGPU=1"],
            {"extra_specs": {"a": "1=2", "resources:VGPU": "1"}},
            id="extra specs",
        ),
        pytest.param(["--private", "--inactive"], {"is_public": False, "active": False}, id="not"),
        pytest.param(["--public", "--active"], {"is_public": True, "active": True}, id="yes"),
        pytest.param(
            ["--start", "2026-12-01", "--end", "2026-12-31T09:00+11:00"],
            {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-31T09:00:00+11:00"},
            id="period",
        ),
        pytest.param(
            [
                *("--ephemeral-gb", "0", "--description", "two\nlines", "--category", "gpu"),
                *("--availability-zone", "az1", "--properties", '["==", "$a", "b"]'),
            ],
            {
                "ephemeral_gb": 0,
                "description": "two\nlines",
                "category": "gpu",
                "availability_zone": "az1",
                "properties": '["==", "$a", "b"]',
            },
            id="the rest",
        ),
    ],
)
def test_create(
    api: Api, run_json: Callable[..., Any], arguments: list[str], body: dict[str, Any]
) -> None:
    api.answers["POST /v2/flavors"] = Answer(202, flavor())
    assert run_json(flavors.CreateFlavor, "f", *_NEEDED, *arguments) == flavor()
    assert [(r.line, r.body) for r in api.seen] == [("POST /v2/flavors", {**_NEEDED_BODY, **body})]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["f", *_NEEDED[2:]], "--vcpu"),
        (["f", *_NEEDED[:-2]], "--max-length-hours"),
        (_NEEDED, "NAME"),
        (["f", *_NEEDED, "--slots", "0"], "'0' isn't a whole number of at least 1"),
        (["f", *_NEEDED, "--extra-spec", "a"], "key=value"),
        (["f", *_NEEDED, "--public", "--private"], "not allowed with"),
    ],
)
def test_create_refuses(
    api: Api, run: Run, capsys: pytest.CaptureFixture, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(flavors.CreateFlavor, *arguments)
    assert caught.value.code == 2
    assert complaint in capsys.readouterr().err
    assert not api.seen


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (["--name", "g", "--slots", "5"], {"name": "g", "slots": 5}),
        (["--max-length-hours", "7", "--inactive"], {"max_length_hours": 7, "active": False}),
        (["--private"], {"is_public": False}),
        (["--no-start", "--no-end"], {"start": None, "end": None}),
        (["--no-description", "--no-properties"], {"description": None, "properties": None}),
        (
            ["--no-category", "--no-availability-zone"],
            {"category": None, "availability_zone": None},
        ),
        (["--end-date", "2027-01-01T10:00Z"], {"end": "2027-01-01T10:00:00+00:00"}),
        (["--no-extra-specs"], {"extra_specs": {}}),
        (["--no-extra-specs", "--extra-spec", "c=3"], {"extra_specs": {"c": "3"}}),
    ],
)
def test_update(api: Api, run: Run, arguments: list[str], body: dict[str, Any]) -> None:
    api.answers["PATCH /v2/flavors/f"] = Answer(200, flavor())
    assert run(flavors.UpdateFlavor, "f", *arguments) == "Updated flavor: f\n"
    assert [(r.line, r.body) for r in api.seen] == [("PATCH /v2/flavors/f", body)]


def test_update_keeps_the_other_extra_specs(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/f"] = Answer(200, flavor())
    api.answers["PATCH /v2/flavors/f"] = Answer(200, flavor())
    run(flavors.UpdateFlavor, "f", "--extra-spec", "hw:a=2", "--extra-spec", "c=3")
    assert api.seen[-1].body == {"extra_specs": {"hw:a": "2", "trait:B": "required", "c": "3"}}


def test_update_of_nothing(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match="Nothing to change"):
        run(flavors.UpdateFlavor, "f")
    assert not api.seen


def test_create_with_a_time_that_is_none(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match=r"^Time 'soon' refused: 'soon' isn't a time"):
        run(flavors.CreateFlavor, "f", *_NEEDED, "--start", "soon")
    assert not api.seen


def test_an_unknown_name_brings_those_that_may_be_meant(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu.larg"] = error(404, "No flavor", "flavor_not_found")
    api.answers["GET /v2/flavors"] = listing(flavor(), flavor(name="small"))
    with pytest.raises(BlazarClientException, match=r"no flavor 'gpu.larg' .* mean gpu\.large\?"):
        run(flavors.ShowFlavor, "gpu.larg")


_SPANS = [
    {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-01T12:00:00+00:00"},
    {"start": "2026-12-03T00:00:00+00:00", "end": "2026-12-05T00:30:00+00:00"},
]


def test_free_slots(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, _SPANS)
    given = ("--start", "2026-12-01", "--days", "7", "--count", "2", "--hours", "24")
    assert run_json(flavors.ListFreeSlots, "f", *given) == [{**_SPANS[1], "hours": 48.5}]
    assert api.seen[0].query == {
        "start": "2026-12-01T00:00:00+00:00",
        "end": "2026-12-08T00:00:00+00:00",
        "count": "2",
    }


@pytest.mark.parametrize("word", ["true", "false"])
def test_free_slots_with_affinity(api: Api, run: Run, word: str) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, _SPANS)
    run(flavors.ListFreeSlots, "f", "--affinity", word)
    assert api.seen[0].query == {"count": "1", "affinity": word}


def test_free_slots_in_a_zone(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, _SPANS[:1])
    (row,) = run_json(flavors.ListFreeSlots, "f", "--timezone", "Australia/Melbourne")
    assert row["start"] == "2026-12-01T11:00:00+11:00"
    assert api.seen[0].query == {"count": "1"}


def test_free_slots_that_end_before_they_begin(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match="isn't after the start"):
        run(flavors.ListFreeSlots, "f", "--start", "2027-01-02", "--end", "2027-01-01")
    assert not api.seen


def test_delete_several(api: Api, run: Run) -> None:
    api.answers["DELETE /v2/flavors/a"] = Answer(204)
    api.answers["DELETE /v2/flavors/b"] = Answer(204)
    assert run(flavors.DeleteFlavor, "a", "b") == "Deleted flavor: a\nDeleted flavor: b\n"


def test_delete_goes_on_after_an_error(
    api: Api, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    api.answers["DELETE /v2/flavors/a"] = error(409, "Flavor a is in use")
    api.answers["DELETE /v2/flavors/b"] = Answer(204)
    with pytest.raises(BlazarClientException, match=r"^1 of 2 flavors not deleted$"):
        run(flavors.DeleteFlavor, "a", "b")
    assert caplog.messages == ["a: Flavor a is in use"]
    assert api.requests == ["DELETE /v2/flavors/a", "DELETE /v2/flavors/b"]


def test_delete_of_one_fails_with_its_error(api: Api, run: Run) -> None:
    api.answers["DELETE /v2/flavors/a"] = error(409, "Flavor a is in use")
    with pytest.raises(BlazarClientException, match=r"^Flavor a is in use$"):
        run(flavors.DeleteFlavor, "a")


_CAPACITY = {
    "start": "2100-01-01T00:00:00+00:00",
    "end": "2101-01-01T00:00:00+00:00",
    "hosts": [{"name": "cmp1", "instances": 3}, {"name": "cmp2", "instances": 1}],
    "instances": 4,
    "bookable": 2,
    "booked_now": 1,
    "booked_peak": 2,
    "utilisation": 0.25,
    "sharing": [{"id": "other", "name": "gpu.small", "hosts": ["cmp2"]}],
}


def test_capacity(api: Api, run: Run, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    for ref in (FLAVOR.id, "gpu.large"):
        api.answers[f"GET /v2/flavors/{ref}"] = Answer(200, flavor(capacity=_CAPACITY))
    (row,) = run_json(flavors.ListFlavors, "--capacity", "--long")
    assert row == {
        **flavor(),
        "instances": 4,
        "bookable": 2,
        "booked_now": 1,
        "booked_peak": 2,
        "utilisation": 0.25,
        "sharing": ["gpu.small"],
    }
    assert api.seen[-1].query == {"detail": "capacity"}
    shown = run_json(flavors.ShowFlavor, "gpu.large", "--capacity")
    assert shown == {**row, "hosts": {"cmp1": 3, "cmp2": 1}}
    assert "cmp1='3', cmp2='1'" in run(flavors.ShowFlavor, "gpu.large", "--capacity")
    run(flavors.ShowFlavor, "gpu.large")
    assert api.seen[-1].query == {}


def test_hours_that_are_shown_can_be_asked_for(api: Api, run_json: Callable[..., Any]) -> None:
    span = {"start": "2026-12-01T00:07:00+00:00", "end": "2026-12-01T15:00:00+00:00"}
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, [span])
    (row,) = run_json(flavors.ListFreeSlots, "f")
    assert row["hours"] == 14.85
    assert len(run_json(flavors.ListFreeSlots, "f", "--hours", str(row["hours"]))) == 1
    assert run_json(flavors.ListFreeSlots, "f", "--hours", "14:54") == []


@pytest.mark.parametrize(
    ("given", "memory", "disk"),
    [
        (["--memory-mb", "8192", "--disk-gb", "30"], 8192, 30),
        (["--memory-mb", "64G", "--disk-gb", "2T"], 65536, 2048),
        (["--memory", "64G", "--disk", "30GiB"], 65536, 30),
        (["--memory", "1.5GB", "--disk", "0.5T"], 1536, 512),
    ],
)
def test_sizes_with_units(api: Api, run: Run, given: list[str], memory: int, disk: int) -> None:
    api.answers["POST /v2/flavors"] = Answer(202, flavor())
    run(flavors.CreateFlavor, "f", *_NEEDED[:2], *_NEEDED[6:], *given)
    assert (api.seen[0].body["memory_mb"], api.seen[0].body["disk_gb"]) == (memory, disk)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["--memory", "64"], "'64' isn't a size; write 64G or 512M"),
        (["--memory-mb", "64X"], "'64X' isn't a size; write 64G or 512M"),
        (["--disk", "512M"], "'512M' isn't a whole number of GiB"),
        (["--disk-gb", "a"], "'a' isn't a size; write 30G or 2T"),
        (["--memory", "1G", "--memory-mb", "1024"], "not allowed with"),
    ],
)
def test_sizes_that_are_none(
    api: Api, run: Run, capsys: pytest.CaptureFixture, given: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        run(flavors.CreateFlavor, "f", *_NEEDED[:2], *_NEEDED[6:], *given)
    assert complaint in capsys.readouterr().err
    assert not api.seen


def test_changes_can_be_tried(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    said = run(flavors.CreateFlavor, "f", *_NEEDED, "--end", "2026-12-01", "--dry-run")
    assert said.startswith("Dry run: would create the flavor name=f, vcpu=4, memory_mb=8192,")
    assert "end=2026-12-01 00:00 UTC" in said
    with pytest.raises(BlazarClientException, match=r"a flavor 'gpu\.large' already"):
        run(flavors.CreateFlavor, "gpu.large", *_NEEDED, "--dry-run")
    said = run(flavors.UpdateFlavor, "gpu.large", "--slots", "3", "--no-end", "--dry-run")
    assert said == "Dry run: would change the flavor gpu.large: slots=3, end=None\n"
    said = run(flavors.DeleteFlavor, "gpu.large", "--dry-run")
    assert said.startswith(f"Dry run: would delete flavor gpu.large ({FLAVOR.id})")
    assert {r.method for r in api.seen} == {"GET"}


def test_when_a_flavor_can_be_booked_is_asked_about(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture
) -> None:
    answers("n")
    with pytest.raises(BlazarClientException, match="Nothing changed"):
        run(flavors.UpdateFlavor, "f", "--start", "2026-12-01", "--end", "2027-01-01T00:00Z")
    assert capsys.readouterr().err.startswith(
        "bookable from Tue 2026-12-01 00:00 UTC, bookable until Fri 2027-01-01 00:00 UTC\n"
    )
    assert not api.seen
