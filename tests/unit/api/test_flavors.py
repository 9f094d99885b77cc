"""/flavors: who may see which flavors, filters, changes, and free slots."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal


def names(answer) -> list[str]:
    assert answer.status_int == 200, answer
    return [f["name"] for f in answer.json["results"]]


@pytest.fixture
def offer(admin: Person) -> dict[str, dict]:
    """Flavors of each kind by name. ``granted`` is private, and alpha's project has access."""
    terms = {
        "zebra": {"category": "gpu", "availability_zone": "az1"},
        "apple": {"category": "cpu", "availability_zone": "az1"},
        "mango": {"category": "gpu", "availability_zone": "az2"},
        "asleep": {"active": False, "category": "gpu"},
        "granted": {"is_public": False},
        "secret": {"is_public": False},
        "secret asleep": {"is_public": False, "active": False},
    }
    made = {name: things.add_flavor(admin, name=name, **t) for name, t in terms.items()}
    things.grant(admin, made["granted"], "project-alpha")
    return made


#: The names that are listed, in their order, by user and query.
LISTS = {
    ("beta", ""): ["apple", "mango", "zebra"],
    ("alpha", ""): ["apple", "granted", "mango", "zebra"],
    ("reader", ""): ["apple", "granted", "mango", "zebra"],
    ("admin", ""): ["apple", "mango", "zebra"],
    ("admin", "all_projects=true"): [
        *("apple", "asleep", "granted", "mango", "secret", "secret asleep", "zebra")
    ],
    ("admin", "all_projects=1&active=false"): ["asleep", "secret asleep"],
    ("admin", "all_projects=yes&active=true&category=gpu"): ["mango", "zebra"],
    ("admin", "all_projects=False"): ["apple", "mango", "zebra"],
    ("alpha", "active=false"): [],
    ("alpha", "active=TRUE"): ["apple", "granted", "mango", "zebra"],
    ("alpha", "category=gpu"): ["mango", "zebra"],
    ("alpha", "availability_zone=az1"): ["apple", "zebra"],
    ("alpha", "category=gpu&availability_zone=az1"): ["zebra"],
    ("alpha", "category=GPU"): [],
    ("alpha", "category=gpu%25"): [],
    ("alpha", "category=nope"): [],
}


def test_listing_has_visible_flavors_that_match_filters(site, offer):
    found = {}
    for who, query in LISTS:
        answer = Person(site.app, who).get(f"flavors?{query}")
        found[who, query] = names(answer)
        assert answer.json["total"] == len(found[who, query])
    assert found == LISTS


def test_flavors_of_one_name_are_listed_by_their_memory(admin: Person):
    for memory in (512, 128, 1024, 256):
        things.add_flavor(admin, name="same", memory_mb=memory)
    listed = admin.get("flavors").json["results"]
    assert [flavor["memory_mb"] for flavor in listed] == [128, 256, 512, 1024]


def test_all_projects_is_forbidden_to_users_except_on_warres_path(site, offer):
    for who in ("beta", "reader"):
        refused = Person(site.app, who).get("flavors?all_projects=true")
        assert refusal(refused) == (403, "forbidden")
        assert "leave all_projects out" in refused.json["error_message"]
        # Warre's clients always send it, whatever the user's roles.
        listed = Person(site.app, who, "/v2/warre/v1").get("flavors?all_projects=true")
        assert names(listed) == names(Person(site.app, who).get("flavors?all_projects=false"))


#: The users who may see each flavor. The others get 404.
SHOWN = {
    "zebra": {"admin", "alpha", "beta", "reader"},
    "asleep": {"admin", "alpha", "beta", "reader"},
    "granted": {"admin", "alpha", "reader"},
    "secret": {"admin"},
}


@pytest.mark.parametrize("path", ["flavors/{}", "flavors/{}/", "flavors/{}/freeslots"])
def test_flavor_is_shown_only_to_those_who_may_see_it(site, offer, path):
    for name, allowed in SHOWN.items():
        for who in ("admin", "alpha", "beta", "reader"):
            for ref in (offer[name]["id"], name):
                answer = Person(site.app, who).get(path.format(ref))
                if who in allowed:
                    assert answer.status_int == 200
                else:
                    assert refusal(answer) == (404, "flavor_not_found")
    shown = Person(site.app, "beta").get(f"flavors/{offer['zebra']['id']}").json
    assert shown == {**things.plain(offer["zebra"]), "bookable": True}


def test_user_without_role_is_forbidden(nobody: Person, offer):
    for path in ("flavors", "flavors/zebra", "flavors/zebra/freeslots"):
        assert refusal(nobody.get(path)) == (403, "forbidden")


def test_create_fills_in_defaults_and_refuses_duplicates(admin: Person, alpha: Person):
    made = things.add_flavor(admin)
    usual = {
        **dict.fromkeys(
            ("description", "properties", "start", "end", "category", "availability_zone")
        ),
        **dict.fromkeys(
            ("max_days_ahead", "extend_within_hours", "max_instances_per_project", "gap_hours")
        ),
        **dict.fromkeys(("idle_warn_hours", "idle_end_hours")),
        **{"active": True, "is_public": True, "ephemeral_gb": 0, "extra_specs": {}},
        **{"before_end": None, "before_end_choice": False, "show_in_nova": False},
        **{"notice_hours": 0, "weekly_hours": None},
    }
    bookable = {"bookable": True, "bookable_hosts": 1, "warnings": []}
    assert made == {"id": made["id"], **usual, **things.FLAVOR, **bookable}
    assert refusal(alpha.post("flavors", things.FLAVOR)) == (403, "forbidden")
    backwards = {**things.FLAVOR, "name": "b", "start": things.at(3), "end": things.at(3)}
    assert refusal(admin.post("flavors", backwards)) == (422, "invalid_field")


#: Changes, and the refusals of those that are refused.
CHANGES = {
    "terms": ({"slots": 5, "max_length_hours": 1, "active": False, "is_public": False}, None),
    "texts": ({"description": "d", "category": "c", "availability_zone": "z"}, None),
    "nothing left": ({"description": None, "category": None, "availability_zone": None}, None),
    "before the end": ({"before_end": "snapshot", "before_end_choice": True}, None),
    "name": ({"name": "renamed"}, None),
    "its own name": ({"name": "gpu.small"}, None),
    "specs": ({"extra_specs": {"resources:VGPU": "1"}}, None),
    "specs that need other CPUs": (
        {"extra_specs": {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "99"}},
        (400, "invalid_field"),
    ),
    "properties": ({"properties": '["==", "$gpu", "a100"]'}, None),
    "period": ({"start": things.at(1), "end": things.at(9)}, None),
    "no period": ({"start": None, "end": None}, None),
    "another's name": ({"name": "other"}, None),
    "backwards": ({"start": things.at(9), "end": things.at(1)}, (400, "invalid_field")),
    "vcpu": ({"vcpu": 1}, (400, "invalid_field")),
    "memory": ({"memory_mb": 1}, (400, "invalid_field")),
    "disk": ({"disk_gb": 1}, (400, "invalid_field")),
    "ephemeral": ({"ephemeral_gb": 1}, (400, "invalid_field")),
    "nothing": ({}, (400, "empty_body")),
}


@pytest.mark.parametrize("case", CHANGES)
def test_update_is_made_or_refused(admin: Person, alpha: Person, case):
    changes, refused = CHANGES[case]
    flavor, _ = things.add_flavor(admin), things.add_flavor(admin, name="other")
    path = f"flavors/{flavor['id']}"
    answer = admin.patch(path, changes)
    if refused:
        assert refusal(answer) == refused
        assert things.shown(admin, path) == things.without_warnings(flavor)
        return
    # Only the answer to a change has warnings.
    assert things.without_warnings(answer.json) == things.shown(admin, path + "/")
    assert things.plain(answer.json) == {**things.plain(flavor), **changes}
    hidden = (404, "flavor_not_found")
    seen = (403, "forbidden") if answer.json["is_public"] else hidden
    for root, refused in (("/v2", seen), ("/v2/warre/v1", hidden)):
        alpha.root = root
        assert refusal(alpha.patch(path, {"slots": 9})) == refused
        assert refusal(alpha.delete(path)) == refused


def test_new_end_or_start_is_checked_against_the_other(admin: Person):
    flavor = things.add_flavor(admin, start=things.at(3), end=things.at(5))
    path = f"flavors/{flavor['id']}"
    assert refusal(admin.patch(path, {"end": things.at(3)})) == (400, "invalid_field")
    assert refusal(admin.patch(path, {"start": things.at(5)})) == (400, "invalid_field")
    assert admin.patch(path, {"end": things.at(4)}).status_int == 200


def test_flavor_is_deleted_once_it_is_not_in_use(admin: Person, alpha: Person, site):
    flavor = things.add_flavor(admin)
    path = f"flavors/{flavor['id']}"
    booked = things.book(alpha, flavor)
    assert refusal(admin.delete(path)) == (409, "flavor_in_use")
    assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    assert admin.delete(path + "/").status_int == 204
    assert refusal(admin.get(path)) == (404, "flavor_not_found")
    assert refusal(admin.delete(path)) == (404, "flavor_not_found")
    assert names(admin.get("flavors?all_projects=true")) == []
    assert things.add_flavor(admin)["id"] != flavor["id"]


def free(person: Person, flavor: dict, query: str) -> list[tuple[str, str]]:
    answer = person.get(f"flavors/{flavor['id']}/freeslots?{query}")
    assert answer.status_int == 200, answer
    return [(span["start"], span["end"]) for span in answer.json]


def test_free_slots_leave_out_bookings_and_windows(admin: Person, alpha: Person):
    """On day 2 one slot of two is booked from 9 to 11, and both from 10 to 11. Day 5 is closed."""
    flavor = things.add_flavor(admin)
    things.book(alpha, flavor)
    things.book(alpha, flavor, start=things.at(2, 10))
    things.add_window(admin, flavor)
    whole = (things.at(1), things.at(7))
    around = [(whole[0], things.at(2, 10)), (things.at(2, 11), things.at(5))]
    after = (things.at(6), whole[1])
    query = "start=2100-01-02&end=2100-01-08"
    assert free(alpha, flavor, query) == [*around, after]
    assert free(alpha, flavor, query + "&count=1") == [*around, after]
    both = [(whole[0], things.at(2, 9)), (things.at(2, 11), things.at(5)), after]
    assert free(alpha, flavor, query + "&count=2") == both
    assert free(alpha, flavor, query + "&count=3") == []
    # The site has one host.
    assert free(alpha, flavor, query + "&count=2&affinity=true") == both
    assert free(alpha, flavor, query + "&count=2&affinity=false") == []
    wrong = alpha.get(f"flavors/{flavor['id']}/freeslots?affinity=together")
    assert refusal(wrong) == (422, "invalid_field")


def test_free_slots_default_to_one_year_from_now(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    now, year = things.at(0, 12), "2101-01-01T12:00:00+00:00"
    assert free(alpha, flavor, "") == [(now, year)]
    assert free(alpha, flavor, "start=1999-01-01&end=2100-01-02") == [(now, things.at(1))]
    assert free(alpha, flavor, "start=2100-01-05T10:30") == [
        ("2100-01-05T10:30:00+00:00", "2101-01-05T10:30:00+00:00")
    ]
    # An offset whose plus isn't encoded, one whose plus is, and no offset.
    for text in ("2100-01-05T12:30:00+02:00", "2100-01-05T12:30:00%2B02:00", "2100-01-05T10:30"):
        assert free(alpha, flavor, f"start={text}&end=2100-01-06") == [
            (things.at(4, 10, 30), things.at(5))
        ]


@pytest.mark.parametrize("query", ["start=2100-01-05&end=2100-01-05", "end=1999-01-01"])
def test_free_slots_of_an_empty_time_are_refused(admin: Person, query):
    flavor = things.add_flavor(admin)
    answer = admin.get(f"flavors/{flavor['id']}/freeslots/?{query}")
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == "end"


def test_inactive_or_ended_flavor_is_never_free(admin: Person):
    asleep = things.add_flavor(admin, name="asleep", active=False)
    over = things.add_flavor(admin, name="over", end="2099-01-01T00:00")
    assert free(admin, asleep, "") == free(admin, over, "") == []


def test_dry_run_of_a_flavor_has_the_warnings_and_changes_nothing(admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    things.book(alpha, flavor, instance_count=2)
    path, before = f"flavors/{flavor['id']}", admin.get(f"flavors/{flavor['id']}").json
    terms = {name: value for name, value in things.plain(flavor).items() if name != "id"}
    lacking = {**terms, "name": "f", "properties": '["==", "$gpu_model", "none"]'}
    answer = admin.post("flavors?dry_run=true", lacking)
    assert (answer.status_int, answer.json["bookable"]) == (200, False)
    assert admin.get("flavors/f").status_int == 404
    answer = admin.patch(f"{path}?dry_run=true", {"slots": 1})
    assert (answer.status_int, answer.json["slots"]) == (200, 1)
    assert [warning["code"] for warning in answer.json["warnings"]] == ["slots_overbooked"]
    assert admin.get(path).json == before


def test_expression_that_asks_for_nothing_is_null(admin: Person):
    flavor = things.add_flavor(admin, properties="[]")
    assert flavor["properties"] is None
    path = f"flavors/{flavor['id']}"
    assert admin.patch(path, {"properties": '["==", "$vcpus", "16"]'}).json["properties"]
    assert admin.patch(path, {"properties": " "}).json["properties"] is None
