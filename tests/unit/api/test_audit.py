"""The report of the last audit, under /v2 and Warre's path."""

import datetime

from tests.unit.api.people import Person
from warre_blazar.domain.audit.differences import Difference, DifferenceKind
from warre_blazar.services import audit
from warre_blazar.services.audit import Result

AT = datetime.datetime(2026, 11, 25, 12, 30, 15, 7)
OVERSOLD = Difference(DifferenceKind.FLAVOR_OVERSOLD, "f-1", "5 of 4 slots of gpu are booked")
GONE = Difference(DifferenceKind.HOST_GONE, "h-1", "Placement has no cmp1")
NOTE = Difference(DifferenceKind.NOTE_WRONG, "r-1", "the note has 7, Nova has 8")
RESULT = Result([OVERSOLD, GONE], [NOTE], {GONE.key: "no answer"}, {"keystone": "401"})


def test_there_is_no_report_before_the_first_audit(admin: Person):
    document = admin.get("audit").json
    assert document == {"finished_at": None, "away": [], "found": 0, "results": [], "total": 0}


def test_last_report_is_shown(admin: Person):
    audit.keep_report(Result([GONE], [], {}, {}), AT - datetime.timedelta(days=1))
    audit.keep_report(RESULT, AT)
    document = admin.get("audit").json
    assert document["finished_at"] == "2026-11-25T12:30:15+00:00"
    assert document["away"] == [{"service": "keystone", "reason": "401"}]
    assert (document["found"], document["total"]) == (3, 3)
    shown = [(each["kind"], each["failure"], each["mended"]) for each in document["results"]]
    assert shown == [
        ("flavor-oversold", None, False),
        ("host-gone", "no answer", False),
        ("note-wrong", None, True),
    ]
    assert document["results"][1] == {
        "kind": "host-gone",
        "subject": "h-1",
        "text": "Placement has no cmp1",
        "meaning": GONE.rule.meaning,
        "remedy": GONE.rule.remedy,
        "needs": "a person",
        "failure": "no answer",
        "mended": False,
    }


def test_findings_are_paged(admin: Person):
    audit.keep_report(RESULT, AT)
    first = admin.get("audit?limit=2").json
    assert ([each["subject"] for each in first["results"]], first["total"]) == (["f-1", "h-1"], 3)
    assert first["next"].endswith("/?page=2")
    second = admin.get("audit?limit=2&page=2").json
    assert [each["subject"] for each in second["results"]] == ["r-1"]
    assert "next" not in second


def test_only_the_first_of_very_many_are_kept(admin: Person, monkeypatch):
    monkeypatch.setattr(audit, "MOST_KEPT", 2)
    audit.keep_report(RESULT, AT)
    document = admin.get("audit").json
    assert (document["found"], document["total"], len(document["results"])) == (3, 2, 2)


def test_report_is_for_operators(alpha: Person):
    refused = alpha.get("audit")
    assert (refused.status_int, refused.json["code"]) == (403, "forbidden")


def test_unknown_parameter_is_named(admin: Person):
    refused = admin.get("audit?kind=host-gone")
    assert refused.status_int == 422 and "kind" in refused.json["error_message"]
