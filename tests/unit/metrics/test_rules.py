"""The alert rules and the dashboard: they fire when they should, and use metrics that exist."""

import pathlib
import re
import subprocess
from typing import Any

import pytest
import yaml

from tests.functional.db import dashboard
from tests.functional.db.scraping import RULES, program
from tests.promises import metrics

TESTS = pathlib.Path(__file__).with_name("rules_test.yml")


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


def test_every_alert_says_what_to_do():
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["labels"]["severity"] in ("critical", "warning", "info")


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
