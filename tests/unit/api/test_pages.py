"""Pages of listings: limit, page, and the link to the next page for different clients."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from tests.unit.api.things import at

NOUNS = ["flavors", "flavorprojects", "reservations", "maintenancewindows"]


def add_seven(noun: str, admin: Person, alpha: Person) -> str:
    """Create seven items of a resource. The result is a query that lists only these items."""
    flavor = things.add_flavor(admin, name="another", category="cpu")
    for n in range(7):
        if noun == "flavors":
            things.add_flavor(admin, name=f"f{n}", category="gpu")
        elif noun == "flavorprojects":
            things.grant(admin, flavor, f"p{n}")
        elif noun == "reservations":
            things.book(alpha, flavor, start=at(n + 10), end=at(n + 10, 1))
        else:
            things.add_window(admin, flavor, start=at(n + 2), end=at(n + 3))
    filters = {"flavors": "category=gpu", "maintenancewindows": ""}
    return filters.get(noun, f"flavor_id={flavor['id']}")


@pytest.fixture
def flavors(admin: Person, alpha: Person) -> str:
    """Eight flavors, of which seven have the category gpu."""
    return add_seven("flavors", admin, alpha)


def person_for(noun: str, admin: Person, alpha: Person) -> Person:
    return alpha if noun == "reservations" else admin


def follow(answer: Any, person: Person, **headers: str) -> Any:
    """The next page, by the link alone."""
    return person.get(answer.json["next"], **headers)


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize("slash", ["", "/"])
def test_links_lead_through_all_pages(admin, alpha, noun, slash):
    filters = add_seven(noun, admin, alpha)
    person = person_for(noun, admin, alpha)
    whole = person.get(f"{noun}?{filters}").json
    assert (len(whole["results"]), whole["total"]) == (7, 7)
    assert "next" not in whole
    answer = person.get(f"{noun}{slash}?limit=3&{filters}")
    pages = [answer.json]
    while "next" in answer.json:
        answer = follow(answer, person)
        pages.append(answer.json)
    assert [len(page["results"]) for page in pages] == [3, 3, 1]
    assert [r for page in pages for r in page["results"]] == whole["results"]
    assert {page["total"] for page in pages} == {7}


@pytest.mark.parametrize("noun", NOUNS)
def test_client_may_send_limit_and_filters_with_the_link(admin, alpha, noun):
    """As nectarclient-lib's ``_list`` does: requests adds its params to the link's own."""
    person = person_for(noun, admin, alpha)
    params = f"limit=3&{add_seven(noun, admin, alpha)}".rstrip("&")
    first = person.get(f"{noun}/?{params}").json
    second = person.get(f"{first['next']}&{params}").json
    assert len(second["results"]) == 3
    assert second["results"] == person.get(f"{noun}/?{params}&page=2").json["results"]
    third = person.get(f"{second['next']}&{params}").json
    assert len(third["results"]) == 1
    assert "next" not in third


def test_page_parameter_selects_the_page(admin: Person, flavors):
    def names(query: str) -> list[str]:
        return [f["name"] for f in admin.get(f"flavors?{query}").json["results"]]

    everything = names("")
    assert names("limit=4&page=2") == everything[4:8]
    assert names("limit=4&page=1") == everything[:4]
    assert names("limit=4&next=2") == names("limit=4&next=/?page=2") == everything[4:8]
    assert names("limit=4&page=9") == names(f"limit={2**31 - 1}&page={2**31 - 1}") == []
    assert names("page=3") == everything
    assert names(f"limit={2**31 - 1}") == everything
    assert "next" not in admin.get("flavors?limit=8").json


PROXIES = {
    "none": ({}, "http://localhost:80/v2/flavors"),
    "host": ({"Host": "cloud.example:9393"}, "http://cloud.example:9393/v2/flavors"),
    "whole": (
        {
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "cloud.example",
            "X-Forwarded-Prefix": "/reservation",
        },
        "https://cloud.example/reservation/v2/flavors",
    ),
    "port": (
        {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "c.example:8443"},
        "https://c.example:8443/v2/flavors",
    ),
    "RFC 7239": (
        {"Forwarded": "for=10.0.0.1;proto=https;host=cloud.example"},
        "https://cloud.example/v2/flavors",
    ),
}


@pytest.mark.parametrize("case", PROXIES)
def test_link_uses_the_proxys_url(admin: Person, flavors, case):
    headers, expected = PROXIES[case]
    first = admin.send("GET", "flavors?limit=3&category=gpu", headers=headers)
    link = urlsplit(first.json["next"])
    assert link.geturl().split("?")[0].replace(":80/", "/") == expected.replace(":80/", "/")
    assert first.json["next"].endswith("/?page=2")
    # The path that the proxy passes on leads to the next page.
    path = link.path.removeprefix("/reservation")
    second = admin.send("GET", f"{path}?{link.query}", headers=headers).json
    assert [f["name"] for f in second["results"]] == ["f3", "f4", "f5"]


def test_link_contains_limit_and_filters_unchanged(site: Site, admin: Person):
    """This holds for any characters, and under both roots."""
    category = "a b&c=d/?page=9é"
    for n in range(3):
        things.add_flavor(admin, name=f"f{n}", category=category)
    for root in ("/v2", "/v2/warre/v1"):
        person = Person(site.app, "admin", root)
        query = "flavors/?category=a%20b%26c%3Dd/?page%3D9%C3%A9&limit=1&all_projects=true"
        first = person.get(query)
        link = first.json["next"]
        assert urlsplit(link).path == f"{root}/flavors/"
        assert parse_qs(urlsplit(link).query)["category"] == [category]
        second = follow(first, person)
        third = follow(second, person)
        found = [a.json["results"][0]["name"] for a in (first, second, third)]
        assert found == ["f0", "f1", "f2"]
        assert "next" not in third.json
