"""Commands on flavors: the requests that they send and the output that they print."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import FLAVOR, Api, error, flavor, listing, reservation
from warre_blazar.cli import flavors
from warre_blazar.errors.exceptions import Forbidden
from warre_blazar.texts import permissions

NEEDED = ["--vcpu", "4", "--memory-mb", "8192", "--disk-gb", "30", "--slots", "2"]
NEEDED += ["--max-length-hours", "24"]
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
    api.answers["GET /v2/flavors"] = listing(flavor())
    run(flavors.ListFlavors, *arguments)
    assert api.seen[0].query == query


def test_list_all_shows_is_public_and_active(api: Api, run_json: Callable[..., Any]) -> None:
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


def test_unknown_field_of_a_newer_api_is_shown(api: Api, run_json: Callable[..., Any]) -> None:
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
            ["--max-days-ahead", "none", "--gap-hours", "4"],
            {"max_days_ahead": None, "gap_hours": 4},
            id="terms",
        ),
        pytest.param(["--gap-hours", "0"], {"gap_hours": 0}, id="no gap"),
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
    assert run_json(flavors.CreateFlavor, "f", *NEEDED, *arguments) == flavor()
    assert [(r.line, r.body) for r in api.seen] == [("POST /v2/flavors", {**_NEEDED_BODY, **body})]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["f", *NEEDED[2:]], "--vcpu"),
        (["f", *NEEDED[:-2]], "--max-length-hours"),
        (NEEDED, "NAME"),
        (["f", *NEEDED, "--slots", "0"], "'0' isn't a whole number of at least 1"),
        (["f", *NEEDED, "--extra-spec", "a"], "key=value"),
        (["f", *NEEDED, "--public", "--private"], "not allowed with"),
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
        (["--max-length-hours", "7d"], {"max_length_hours": 168}),
        (["--gap-hours", "2 days", "--end", "none"], {"gap_hours": 48, "end": None}),
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


def test_update_without_options_is_refused(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match="Nothing to change"):
        run(flavors.UpdateFlavor, "f")
    assert not api.seen


def test_create_with_invalid_time_is_refused(api: Api, run: Run) -> None:
    with pytest.raises(
        BlazarClientException, match=r"^Time 'soon' refused: it has none of the forms"
    ):
        run(flavors.CreateFlavor, "f", *NEEDED, "--start", "soon")
    assert not api.seen


def test_unknown_name_suggests_similar_names(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu.larg"] = error(404, "No flavor", "flavor_not_found")
    api.answers["GET /v2/flavors"] = listing(flavor(), flavor(name="small"))
    with pytest.raises(BlazarClientException, match=r"no flavor 'gpu.larg' .* mean gpu\.large\?"):
        run(flavors.ShowFlavor, "gpu.larg")


def test_name_that_contains_the_unknown_one_is_the_only_suggestion(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu.a10"] = error(404, "No flavor", "flavor_not_found")
    api.answers["GET /v2/flavors"] = listing(flavor(name="cpu.small"), flavor(name="gpu.a100"))
    with pytest.raises(BlazarClientException, match=r"mean gpu\.a100\?$"):
        run(flavors.ShowFlavor, "gpu.a10")


def test_unknown_name_suggests_similar_names_to_a_member(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors/gpu.larg"] = error(404, "No flavor", "flavor_not_found")
    api.answers["GET /v2/flavors"] = [error(403, "No", "forbidden"), listing(flavor())]
    with pytest.raises(BlazarClientException, match=r"no flavor 'gpu.larg' .* mean gpu\.large\?"):
        run(flavors.ShowFlavor, "gpu.larg")
    assert [r.query for r in api.seen[-2:]] == [{"all_projects": "true"}, {}]


def test_list_all_by_a_member_is_refused(api: Api, run: Run) -> None:
    why = permissions.OTHER_FLAVORS()
    refusal = Forbidden("x", why)
    api.answers["GET /v2/flavors"] = error(403, refusal.message, "forbidden", **refusal.detail)
    said = f"^{why.replace('all_projects', '--all')}$"
    with pytest.raises(BlazarClientException, match=said):
        run(flavors.ListFlavors, "--all")


_SPANS = [
    {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-01T12:00:00+00:00"},
    {"start": "2026-12-03T00:00:00+00:00", "end": "2026-12-05T00:30:00+00:00"},
]


def test_free_slots(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, _SPANS[1:])
    given = ("--start", "2026-12-01", "--within-days", "7", "--count", "2", "--hours", "24")
    assert run_json(flavors.ListFreeSlots, "f", *given) == [{**_SPANS[1], "hours": 48.5}]
    assert api.seen[0].query == {
        "start": "2026-12-01T00:00:00+00:00",
        "end": "2026-12-08T00:00:00+00:00",
        "count": "2",
        "hours": "24.000000",
    }


def test_free_slots_of_a_category_have_a_column_for_the_flavor(
    api: Api, run_json: Callable[..., Any]
) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    api.answers["GET /v2/flavors/gpu.large/freeslots"] = Answer(200, _SPANS[1:])
    (row,) = run_json(flavors.ListFreeSlots, "--category", "gpu")
    assert row == {"flavor": "gpu.large", **_SPANS[1], "hours": 48.5}


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


def test_free_slots_of_a_length_until_an_end_that_is_read_from_the_start(
    api: Api, run_json: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, _SPANS[1:])
    given = ("--start", "2026-12-01 09:00", "--end", "sat noon", "--length", "2d")
    assert run_json(flavors.ListFreeSlots, "f", *given) == [{**_SPANS[1], "hours": 48.5}]
    assert api.seen[0].query["end"] == "2026-12-05T12:00:00+00:00"
    assert capsys.readouterr().err == (
        "From: Tue 2026-12-01 09:00 UTC\nUntil: Sat 2026-12-05 12:00 UTC\n"
    )


def test_free_slots_with_end_before_start_are_refused(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match="isn't after the start"):
        run(flavors.ListFreeSlots, "f", "--start", "2027-01-02", "--end", "2027-01-01")
    assert not api.seen


def test_number_that_is_none_of_both_names_the_word(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(flavors.UpdateFlavor, "f", "--max-days-ahead", "0")
    assert "'0' isn't a whole number of at least 1, or none" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(flavors.UpdateFlavor, "f", "--gap-hours", "soon")
    assert "'soon' isn't a whole number of at least 0, or none" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(flavors.UpdateFlavor, "f", "--max-length-hours", "90m")
    assert "'90m' isn't a whole number of at least 1\n" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(flavors.UpdateFlavor, "f", "--slots", "none")  # Each flavor has slots.
    assert "'none' isn't a whole number of at least 1\n" in capsys.readouterr().err
    assert not api.seen


def test_help_says_what_none_means(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(flavors.UpdateFlavor, "--help")
    helped = " ".join(capsys.readouterr().out.split())
    assert "none: there is no such limit" in helped
    assert "none: they may overlap" in helped


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


def test_failed_delete_of_one_shows_its_error(api: Api, run: Run) -> None:
    api.answers["DELETE /v2/flavors/a"] = error(409, "Flavor a is in use")
    with pytest.raises(BlazarClientException, match=r"^Flavor a is in use$"):
        run(flavors.DeleteFlavor, "a")


_CAPACITY = {
    "start": "2100-01-01T00:00:00+00:00",
    "end": "2101-01-01T00:00:00+00:00",
    "hosts": [{"name": "cmp1", "instances": 3}, {"name": "cmp2", "instances": 1}],
    "instances": 4,
    "bookable_instances": 2,
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
        "bookable_instances": 2,
        "booked_now": 1,
        "booked_peak": 2,
        "utilisation": 0.25,
        "sharing": ["gpu.small"],
    }
    assert api.seen[-1].query == {"detail": "capacity"}
    shown = run_json(flavors.ShowFlavor, "gpu.large", "--capacity")
    assert shown == {**row, "hosts": {"cmp1": 3, "cmp2": 1}}
    week = ("--start", "2026-12-01T00:00Z", "--end", "2026-12-08T00:00Z")
    assert run_json(flavors.ShowFlavor, "gpu.large", *week)["booked_peak"]
    span = {"start": "2026-12-01T00:00:00+00:00", "end": "2026-12-08T00:00:00+00:00"}
    assert api.seen[-1].query == {"detail": "capacity", **span}
    table = run(flavors.ShowFlavor, "gpu.large", "--capacity")
    assert "cmp1: 3, cmp2: 1" in table and re.search(r"utilisation +\| 25% ", table)
    run(flavors.ShowFlavor, "gpu.large")
    assert api.seen[-1].query == {}


def test_flavor_says_what_is_done_before_the_end(api: Api, run: Run) -> None:
    api.answers[f"PATCH /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor())
    for options, sent in (
        (["--before-end", "snapshot", "--before-end-choice"], ("snapshot", True)),
        (["--no-before-end", "--no-before-end-choice"], (None, False)),
    ):
        run(flavors.UpdateFlavor, FLAVOR.id, *options)
        assert api.seen[-1].body == dict(
            zip(("before_end", "before_end_choice"), sent, strict=True)
        )


def test_shown_hours_are_accepted_by_the_hours_option(
    api: Api, run_json: Callable[..., Any]
) -> None:
    span = {"start": "2026-12-01T00:07:00+00:00", "end": "2026-12-01T15:00:00+00:00"}
    api.answers["GET /v2/flavors/f/freeslots"] = Answer(200, [span])
    (row,) = run_json(flavors.ListFreeSlots, "f")
    assert row["hours"] == 14.85
    run_json(flavors.ListFreeSlots, "f", "--hours", str(row["hours"]))
    assert api.seen[-1].query["hours"] == "14.850000"


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
    run(flavors.CreateFlavor, "f", *NEEDED[:2], *NEEDED[6:], *given)
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
def test_invalid_size_is_refused(
    api: Api, run: Run, capsys: pytest.CaptureFixture, given: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        run(flavors.CreateFlavor, "f", *NEEDED[:2], *NEEDED[6:], *given)
    assert complaint in capsys.readouterr().err
    assert not api.seen


def test_dry_run_changes_no_flavor(api: Api, run: Run, capsys: pytest.CaptureFixture) -> None:
    api.answers["GET /v2/flavors/gpu.large"] = Answer(200, flavor())
    few = {"code": "slots_below_booked", "message": "3 are booked"}
    api.answers["POST /v2/flavors"] = Answer(200, flavor(name="f", bookable=False, warnings=[]))
    api.answers[f"PATCH /v2/flavors/{FLAVOR.id}"] = Answer(200, flavor(warnings=[few]))
    said = run(flavors.CreateFlavor, "f", *NEEDED, "--end", "2026-12-01", "--dry-run")
    assert said.startswith("Dry run: would create the flavor name=f, vcpu=4, memory_mb=8192,")
    assert "end=2026-12-01 00:00 UTC" in said
    assert "Warning: no host could hold an instance of f" in capsys.readouterr().err
    said = run(flavors.UpdateFlavor, "gpu.large", "--slots", "3", "--no-end", "--dry-run")
    assert said == "Dry run: would change the flavor gpu.large: slots=3, end=None\n"
    assert capsys.readouterr().err == "Warning: 3 are booked.\n"
    changing = [r for r in api.seen if r.method != "GET"]
    assert [r.query for r in changing] == [{"dry_run": "true"}] * 2


@pytest.mark.parametrize("is_used", [True, False], ids=["used", "unused"])
def test_dry_run_of_delete_looks_for_reservations(api: Api, run: Run, is_used: bool) -> None:
    api.answers |= {
        f"GET /v2/flavors/{FLAVOR.id}": Answer(200, flavor()),
        "GET /v2/reservations": listing(*[reservation()] * is_used),
    }
    if is_used:
        refused = rf"^Flavor {FLAVOR.id} is in use\. See .* --all-projects --flavor {FLAVOR.id}$"
        with pytest.raises(BlazarClientException, match=refused):
            run(flavors.DeleteFlavor, FLAVOR.id, "--dry-run")
    else:
        said = run(flavors.DeleteFlavor, FLAVOR.id, "--dry-run")
        assert said == f"Dry run: would delete flavor gpu.large ({FLAVOR.id})\n"
    assert api.seen[-1].query == {
        "all_projects": "true",
        "flavor_id": FLAVOR.id,
        "status": "PENDING_CREATE,ALLOCATED,ACTIVE,ERROR",
    }


def test_inexact_times_of_a_flavor_are_confirmed(
    api: Api, run: Run, answers: Callable[[str], None], capsys: pytest.CaptureFixture
) -> None:
    answers("n")
    with pytest.raises(BlazarClientException, match="Nothing changed"):
        run(flavors.UpdateFlavor, "f", "--start", "2026-12-01", "--end", "2027-01-01T00:00Z")
    assert capsys.readouterr().err.startswith(
        "bookable from Tue 2026-12-01 00:00 UTC, bookable until Fri 2027-01-01 00:00 UTC\n"
    )
    assert not api.seen


@pytest.mark.parametrize(
    ("documents", "shown"),
    [
        pytest.param([{}], None, id="an older API"),
        pytest.param([{"bookable": True}], None, id="a researcher"),
        pytest.param([{"bookable": True}, {"bookable": False}], "bookable", id="a lost flavor"),
        pytest.param(
            [{"bookable": True, "bookable_hosts": 3}, {"bookable": False, "bookable_hosts": 0}],
            "bookable_hosts",
            id="an operator",
        ),
    ],
)
def test_list_marks_flavors_that_no_host_could_hold(
    api: Api, run_json: Callable[..., Any], documents: list[dict[str, Any]], shown: str | None
) -> None:
    api.answers["GET /v2/flavors"] = listing(*(flavor(**values) for values in documents))
    rows = run_json(flavors.ListFlavors)
    for row, values in zip(rows, documents, strict=True):
        told = {name: row[name] for name in ("bookable", "bookable_hosts") if name in row}
        assert told == ({shown: values[shown]} if shown else {})
    (first, *_) = run_json(flavors.ListFlavors, "--long")
    assert documents[0].items() <= first.items()


@pytest.mark.parametrize("hosts", [0, 1])
def test_create_and_set_warn_of_a_flavor_that_no_host_could_hold(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], hosts: int
) -> None:
    answer = flavor(name="f", bookable=hosts > 0, bookable_hosts=hosts)
    api.answers["POST /v2/flavors"] = Answer(202, answer)
    api.answers["PATCH /v2/flavors/f"] = Answer(200, answer)
    for command, arguments in (
        (flavors.CreateFlavor, ["f", *NEEDED]),
        (flavors.UpdateFlavor, ["f", "--slots", "3"]),
    ):
        run(command, *arguments)
        said = capsys.readouterr().err
        assert said.startswith("Warning: no host could hold an instance of f") == (hosts == 0)
        assert ("openstack reservation host list" in said) == (hosts == 0)


@pytest.mark.parametrize("code", ["no_hosts", "unknown_property", "unknown_zone"])
def test_known_cause_of_a_flavor_that_cannot_be_booked_is_all_that_is_said(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    warning = {"code": code, "message": "Blazar has no host yet"}
    answer = flavor(name="f", bookable=False, bookable_hosts=0, warnings=[warning])
    api.answers["POST /v2/flavors"] = Answer(202, answer)
    run(flavors.CreateFlavor, "f", *NEEDED)
    assert capsys.readouterr().err == "Warning: Blazar has no host yet.\n"


_WARNINGS = [{"code": "no_candidates", "message": "Placement finds no host now"}]


def test_create_and_set_print_the_warnings_of_the_api(
    api: Api, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = flavor(name="f", bookable=True, warnings=_WARNINGS)
    api.answers["POST /v2/flavors"] = Answer(202, answer)
    api.answers["PATCH /v2/flavors/f"] = Answer(200, answer)
    for command, arguments in (
        (flavors.CreateFlavor, ["f", *NEEDED]),
        (flavors.UpdateFlavor, ["f", "--slots", "3"]),
    ):
        run(command, *arguments)
        said = capsys.readouterr().err
        assert said == "Warning: Placement finds no host now.\n"


def test_create_shows_warnings_if_there_are_any(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["POST /v2/flavors"] = Answer(202, flavor(warnings=_WARNINGS))
    shown = run_json(flavors.CreateFlavor, "f", *NEEDED)
    assert shown["warnings"] == _WARNINGS
    api.answers["POST /v2/flavors"] = Answer(202, flavor(warnings=[]))
    assert run_json(flavors.CreateFlavor, "f", *NEEDED) == flavor()


def _limit(kind: str, name: str, *providers: str, **amounts: int) -> dict[str, Any]:
    return {
        **{"kind": kind, "name": name, "providers": list(providers)},
        **{"asked": None, "capacity": None, **amounts},
    }


_GPU = _limit("resource_class", "CUSTOM_GPU", "g1", "g2", asked=1, capacity=2)
_LIMITS = {
    "by": "hosts",
    "instances": 4,
    "hosts": [
        {"name": "cmp0", "state": "draining", "instances": 2, "limits": [_GPU]},
        {"name": "cmp1", "state": "bookable", "instances": 2, "limits": [_GPU]},
        {"name": "cmp2", "instances": 2, "limits": [_GPU]},
        {"name": "cmp3", "instances": 0, "limits": [_limit("resource_class", "CUSTOM_GPU")]},
        {
            "name": "cmp4",
            "instances": 0,
            "limits": [
                _limit("zone", "az1"),
                {**_limit("property", "gpu == a100"), "have": "h100"},
                _limit("missing_property", "gpus"),
                _limit("required_trait", "CUSTOM_X", "cmp4"),
                _limit("forbidden_trait", "CUSTOM_Y", "cmp4"),
            ],
        },
        {"name": "cmp5", "instances": 0, "limits": [_limit("groups", "VCPU, CUSTOM_GPU")]},
        {"name": "cmp6", "instances": 0, "limits": [_limit("a new kind", "x")]},
        *({"name": f"cmp1{n}", "instances": 0, "limits": []} for n in range(6)),
    ],
}


def test_show_says_what_limits_a_flavor_by_host(
    api: Api, run: Run, run_json: Callable[..., Any]
) -> None:
    api.answers["GET /v2/flavors/f"] = Answer(200, flavor(limits=_LIMITS))
    assert run_json(flavors.ShowFlavor, "f")["limits"] == _LIMITS
    told = run(flavors.ShowFlavor, "f")
    for line in (
        "the hosts limit it",
        "cmp0: 2 (can't be booked: drained; 2 CUSTOM_GPU, 1 asked)",
        "cmp1, cmp2: 2 (2 CUSTOM_GPU, 1 asked)",
        "cmp3: 0 (no CUSTOM_GPU)",
        "cmp4: 0 (not in zone az1; not gpu == a100, but h100; no property gpus; no trait CUSTOM_X; "
        "has trait CUSTOM_Y)",
        "cmp5: 0 (no provider with enough of VCPU, CUSTOM_GPU together)",
        "cmp6: 0 (a new kind x)",
        "cmp10, cmp11, cmp12, cmp13 and 2 more: 0",
    ):
        assert f"| {line} " in told, line
    api.answers["GET /v2/flavors/f"] = Answer(200, flavor(limits={**_LIMITS, "by": "slots"}))
    assert "the slots limit it" in run(flavors.ShowFlavor, "f")


def test_a_name_of_several_prints_them(api: Api, run: Run) -> None:
    several = [
        {
            **{"id": "id-1", "vcpu": 2, "memory_mb": 1024, "disk_gb": 10},
            **{"category": "gpu", "availability_zone": None},
        },
        {
            **{"id": "id-2", "vcpu": 4, "memory_mb": 2048, "disk_gb": 20},
            **{"category": None, "availability_zone": None},
        },
    ]
    api.answers["GET /v2/flavors/gpu"] = error(
        409, "2 flavors are named 'gpu'", "flavor_ambiguous", flavor="gpu", flavors=several
    )
    with pytest.raises(BlazarClientException) as raised:
        run(flavors.ShowFlavor, "gpu")
    assert str(raised.value).splitlines() == [
        "'gpu' could be several flavors; give the ID of one:",
        "  id-1  2 vCPUs, 1024 MiB, 10 GB, gpu",
        "  id-2  4 vCPUs, 2048 MiB, 20 GB",
    ]


def test_free_slots_of_a_category_name_the_flavors(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers |= {
        "GET /v2/flavors": listing(flavor(id="1", name="f"), flavor(id="2", name="g")),
        "GET /v2/flavors/f/freeslots": Answer(200, _SPANS[:1]),
        "GET /v2/flavors/g/freeslots": Answer(200, _SPANS[1:]),
    }
    rows = run_json(flavors.ListFreeSlots, "--category", "gpu")
    assert [(row["flavor"], row["hours"]) for row in rows] == [("f", 12.0), ("g", 48.5)]
    assert api.seen[0].query == {"category": "gpu"}


def test_free_slots_of_flavors_with_one_name_add_the_id(
    api: Api, run_json: Callable[..., Any]
) -> None:
    ids = ("216ecd68-e9d4-4a6a-a825-308a0bad2876", "66e36a72-057f-4350-b801-b51e31af0a08")
    api.answers["GET /v2/flavors"] = listing(*(flavor(id=each, name="f") for each in ids))
    for each in ids:
        api.answers[f"GET /v2/flavors/{each}/freeslots"] = Answer(200, _SPANS[:1])
    rows = run_json(flavors.ListFreeSlots)
    assert [row["flavor"] for row in rows] == [f"f ({each})" for each in ids]


def test_free_slots_of_several_flavors(api: Api, run_json: Callable[..., Any]) -> None:
    for name in "fg":
        api.answers[f"GET /v2/flavors/{name}/freeslots"] = Answer(200, _SPANS[:1])
    rows = run_json(flavors.ListFreeSlots, "f", "g", "f")
    assert [row["flavor"] for row in rows] == ["f", "g"]


def test_list_of_an_unknown_category_names_the_known_ones(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors"] = [listing(), listing(), listing(flavor(category="gpu"))]
    with pytest.raises(BlazarClientException, match=r"category 'GPU'; categories: gpu$"):
        run(flavors.ListFlavors, "--category", "GPU")


def test_list_of_a_known_category_may_be_empty(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors"] = [listing(), listing(flavor(category="gpu"))]
    assert run_json(flavors.ListFlavors, "--category", "gpu", "--availability-zone", "z") == []


def test_unknown_category_names_the_known_ones(api: Api, run: Run) -> None:
    api.answers["GET /v2/flavors"] = [listing(), listing(flavor(category="gpu"))]
    with pytest.raises(BlazarClientException, match=r"category 'x'; categories: gpu$"):
        run(flavors.ListFreeSlots, "--category", "x")


def test_names_and_a_category_are_refused(api: Api, run: Run) -> None:
    with pytest.raises(BlazarClientException, match="not both"):
        run(flavors.ListFreeSlots, "f", "--category", "x")
    assert not api.seen


def test_list_shows_descriptions_if_there_are_any(api: Api, run_json: Callable[..., Any]) -> None:
    api.answers["GET /v2/flavors"] = [listing(flavor()), listing(flavor(description="for all"))]
    (plain,) = run_json(flavors.ListFlavors)
    (described,) = run_json(flavors.ListFlavors)
    assert "description" not in plain
    assert described["description"] == "for all"


def test_inactive_flavor_is_not_said_to_lack_hosts(
    api: Api, run: Run, capsys: pytest.CaptureFixture
) -> None:
    api.answers["PATCH /v2/flavors/f"] = Answer(200, flavor(active=False, bookable=False))
    run(flavors.UpdateFlavor, "f", "--inactive")
    assert "no host could hold" not in capsys.readouterr().err
