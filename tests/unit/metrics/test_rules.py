"""The alert rules and the dashboard: they fire when they should, and use metrics that exist."""

import pathlib
import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.functional.db import dashboard
from tests.functional.db.scraping import RULES, program
from tests.functional.db.test_alerts import CAUSES
from tests.promises import metrics
from warre_blazar.domain.audit.differences import DifferenceKind

TESTS = pathlib.Path(__file__).with_name("rules_test.yml")
PAGE = pathlib.Path(__file__).parents[3] / "doc/source/alerts.rst"


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return group["rules"]


def panels() -> list[dict[str, Any]]:
    return [panel for found in dashboard.rows().values() for panel in found]


def used(text: str) -> set[str]:
    """The metrics in a query, without the suffixes of a histogram's parts."""
    names = re.findall(r"openstack_blazar_\w+", text)
    return {re.sub(r"_seconds_(bucket|count|sum)$", "_seconds", name) for name in names}


def expressions() -> list[str]:
    shown = [query for panel in panels() for query, _ in dashboard.queries(panel)]
    return [*shown, *(rule["expr"] for rule in rules())]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("check", "rules", RULES), ("test", "rules", TESTS)])
def test_promtool_accepts_the_rules(words: tuple[Any, ...]):
    done = subprocess.run(
        [program("promtool"), *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test_in_which_it_fires():
    cases = yaml.safe_load(TESTS.read_text())["tests"]
    expected = [
        sample["labels"]
        for case in cases
        for query in case.get("promql_expr_test", ())
        for sample in query["exp_samples"]
    ]
    fired = {name for labels in expected for name in re.findall(r'alertname="(\w+)"', labels)}
    assert fired == {rule["alert"] for rule in rules()}


def test_every_alert_says_what_it_means():
    for rule in rules():
        assert set(rule["annotations"]) - {"audit"} == {"summary", "description"}
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_every_alert_is_caused_in_the_tables():
    caused = {f"WarreBlazar{name}" for alerts, _ in CAUSES.values() for name in alerts}
    assert caused | {"WarreBlazarDatabaseUnreadable"} == {rule["alert"] for rule in rules()}


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.__name__)
def test_alert_has_the_words_of_the_audit(cause: Any):
    """The one exception is an ERROR that nothing explains, which the audit takes for a mistake."""
    alerts, differences = CAUSES[cause]
    said = [r["annotations"] for r in rules() if r["alert"] in {f"WarreBlazar{a}" for a in alerts}]
    for kind in differences - {DifferenceKind.LEASE_STATE}:
        assert [kind.label in each["audit"].split(", ") for each in said] == [True]
        assert [kind.value.meaning in each["description"] for each in said] == [True]


def test_page_has_the_ten_alerts_with_what_they_watch_and_what_to_do():
    sections = re.split(r"^(WarreBlazar\w+)\n-+\n", PAGE.read_text(), flags=re.MULTILINE)[1:]
    found = dict(zip(sections[::2], sections[1::2], strict=True))
    assert list(found) == [rule["alert"] for rule in rules()]
    assert len(found) == 10
    for rule in rules():
        fields = dict(
            re.findall(r"^:([\w ]+): (.*(?:\n {4}.*)*)", found[rule["alert"]], re.MULTILINE)
        )
        assert list(fields) == ["Severity", "Metric", "Meaning", "Do", "Tried"]
        assert fields["Severity"] == rule["labels"]["severity"]
        assert used(fields["Metric"]) == used(rule["expr"])
        kinds = rule["annotations"].get("audit", "").replace(",", "").split()
        assert re.findall(r"\*([a-z-]+)\*", fields["Meaning"]) == kinds


def test_queries_use_metrics_that_exist_and_each_metric_is_used():
    assert {name for text in expressions() for name in used(text)} == metrics().keys()


def test_panels_have_ids_of_their_own_and_don_t_overlap():
    everything = dashboard.load()["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    cells = [
        (x, y)
        for panel in everything
        for position in [panel["gridPos"]]
        for x in range(position["x"], position["x"] + position["w"])
        for y in range(position["y"], position["y"] + position["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) == 23


def test_every_panel_has_a_description_and_a_unit():
    for panel in panels():
        assert len(panel["description"]) > 20
        assert panel["fieldConfig"]["defaults"]["unit"] in ("none", "s", "percentunit")
