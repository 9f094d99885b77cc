"""Prometheus scrapes the metrics of the cloud, and each query of the dashboard and of the rules."""

import os
import pathlib
from typing import Any

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until
from tests.functional.db import dashboard, scraping


def test_every_query_has_data(alpha: Person, offer: Offer, tmp_path: pathlib.Path):
    """A query that shows rates has data for a minute after something has happened."""
    flavor = offer()
    program = [str(devcloud.home() / "venv" / "bin" / "warre-blazar-manage")]
    config = str(devcloud.home() / "etc" / "blazar" / "blazar.conf")
    with (
        scraping.serving(program, config, tmp_path) as target,
        scraping.prometheus(target, tmp_path) as server,
    ):
        # Of what begins with the first sample, Prometheus knows no rate.
        repairs = "sum(increase(openstack_blazar_repairs_total[1m]))"
        until("two samples", lambda: server.values(repairs))
        make_life(alpha, flavor)
        missing = queries(server)
        assert len(missing) > 30

        def still_missing() -> list[str]:
            missing.difference_update({query for query in missing if server.values(query)})
            return sorted(missing)

        until("data for each query", lambda: not still_missing())
        dashboard.draw(server.lines, pathlib.Path(os.environ.get("WARRE_PICTURES", tmp_path)))


def make_life(alpha: Person, flavor: dict[str, Any]) -> None:
    """A reservation that is started, and one that is refused because the slots are taken."""
    made = world.booked_now(alpha, flavor, 2)
    world.becomes(alpha, made, "ACTIVE")
    refused = world.book(alpha, flavor, world.Period.of(made).moved(start=0.5), 2)
    assert refused.json()["code"] == "slots_exhausted", refused.text


def queries(server: scraping.Prometheus) -> set[str]:
    """All queries of the dashboard, and what the alert rules compare."""
    shown = {
        query
        for panels in dashboard.rows().values()
        for panel in panels
        for query, _ in dashboard.queries(panel)
    }
    rules = server.rules()
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    return shown | {scraping.compared(rule["query"]) for rule in rules}
