"""Several flavors with the same name, and requests that give a flavor by its name."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal


@pytest.fixture
def twins(admin: Person) -> list[dict]:
    """Two public flavors with the same name, ordered by id."""
    made = [things.add_flavor(admin, name="twin", category=c) for c in ("gpu", "cpu")]
    return sorted(made, key=lambda flavor: flavor["id"])


def ids(answer) -> list[str]:
    """The ids of the flavors that a refusal lists for an ambiguous name."""
    assert refusal(answer) == (409, "flavor_ambiguous")
    detail = answer.json["detail"]
    assert detail["flavor"] == "twin"
    found = [flavor["id"] for flavor in detail["flavors"]]
    assert all(flavor_id in answer.json["error_message"] for flavor_id in found)
    return found


def test_name_of_several_flavors_is_refused_with_their_ids(
    site, admin: Person, alpha: Person, twins
):
    both = [flavor["id"] for flavor in twins]
    before = site.rows()
    for path in ("flavors/twin", "flavors/twin/freeslots", "flavors/twin?detail=capacity"):
        assert ids(admin.get(path)) == both
    assert ids(admin.patch("flavors/twin", {"slots": 9})) == both
    assert ids(admin.delete("flavors/twin")) == both
    asked = {"flavor_id": "twin", "project_id": alpha.project_id}
    assert ids(admin.post("flavorprojects", asked)) == both
    assert ids(alpha.post("reservations", things.booking({"id": "twin"}))) == both
    assert site.rows() == before
    assert site.cloud.keystone.trusts == {}


def test_flavors_with_the_same_name_are_used_by_their_ids(alpha: Person, admin: Person, twins):
    for flavor in twins:
        assert things.book(alpha, flavor)["flavor"] == things.plain(flavor)
        assert admin.patch(f"flavors/{flavor['id']}", {"slots": 5}).json["slots"] == 5


def test_name_is_unambiguous_when_the_other_flavor_is_deleted(admin: Person, alpha: Person, twins):
    assert admin.delete(f"flavors/{twins[0]['id']}").status_int == 204
    assert things.book(alpha, {"id": "twin"})["flavor"]["id"] == twins[1]["id"]


def test_name_stands_for_the_only_flavor_that_the_caller_may_see(
    admin: Person, alpha: Person, beta: Person
):
    public = things.add_flavor(admin, name="twin")
    private = things.add_flavor(admin, name="twin", is_public=False)
    things.grant(admin, private, alpha.project_id)
    both = sorted([public["id"], private["id"]])
    assert ids(alpha.get("flavors/twin")) == both
    assert ids(alpha.post("reservations", things.booking({"id": "twin"}))) == both
    assert beta.get("flavors/twin").json["id"] == public["id"]
    assert beta.get("flavors/twin/freeslots").status_int == 200
    assert things.book(beta, {"id": "twin"})["flavor"]["id"] == public["id"]
    # An admin sees both flavors, but the admin's project may book only one of them.
    assert ids(admin.get("flavors/twin")) == both
    assert things.book(admin, {"id": "twin"})["flavor"]["id"] == public["id"]


def test_id_takes_precedence_over_a_name(admin: Person, alpha: Person):
    first = things.add_flavor(admin)
    things.add_flavor(admin, name=first["id"])
    assert alpha.get(f"flavors/{first['id']}").json["name"] == first["name"]


@pytest.mark.parametrize("by", ["id", "name"])
def test_private_flavor_is_refused_like_an_unknown_flavor(site, admin: Person, beta: Person, by):
    private = things.add_flavor(admin, name="secret", is_public=False)
    asked = things.booking({"id": private[by]})
    refused = beta.post("reservations", asked)
    unknown = beta.post("reservations", things.booking({"id": "nope"}))
    assert refusal(refused) == refusal(unknown) == (404, "flavor_not_found")
    said = [answer.json["error_message"] for answer in (refused, unknown)]
    # Only what was sent differs.
    assert said[0] == said[1].replace("nope", private[by])
    assert refused.json["detail"] == {"flavor": private[by]}
    warres = Person(site.app, "beta", "/v2/warre/v1")
    answer = warres.post("reservations", asked)
    assert refusal(answer) == (400, "flavor_not_accessible")
    assert answer.json["error_message"] == "Flavor is not accessible"


def test_extension_after_access_is_removed_says_so(admin: Person, alpha: Person):
    """The user knows the flavor already, so the answer needn't hide it."""
    private = things.add_flavor(admin, is_public=False)
    right = things.grant(admin, private, alpha.project_id)
    mine = things.book(alpha, private)
    admin.delete(f"flavorprojects/{right['id']}")
    longer = alpha.patch(f"reservations/{mine['id']}", {"end": things.at(2, 12)})
    assert refusal(longer) == (400, "flavor_not_accessible")


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
def test_second_flavor_with_the_same_name_is_accepted(site, root):
    admin = Person(site.app, "admin", root)
    answers = [admin.post("flavors", things.FLAVOR) for _ in range(2)]
    assert [answer.status_int for answer in answers] == [202, 202]
    assert admin.get("flavors").json["total"] == 2


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
@pytest.mark.parametrize("body", [b"[1]", b"null", b'"x"', b"1"])
def test_body_that_is_not_an_object_is_an_invalid_field(site, root, body):
    admin = Person(site.app, "admin", root)
    answer = admin.send("POST", "flavors", body)
    assert refusal(answer) == (422, "invalid_field")
    expected = {"reason": "json_object", "expected": "expected a JSON object"}
    assert answer.json["detail"] == {"field": "body", **expected}


def warnings(flavor: dict) -> list[str]:
    return [each["message"] for each in flavor["warnings"] if each["code"] == "name_taken"]


def test_new_flavor_with_a_taken_name_has_a_warning(admin: Person):
    first = things.add_flavor(admin, name="twin")
    assert warnings(first) == []
    asked = {**things.FLAVOR, "name": "twin", "is_public": False, "active": False}
    foreseen = admin.post("flavors?dry_run=true", asked)
    for second in (foreseen.json, admin.post("flavors", asked).json):
        assert warnings(second) == [
            f"The flavor {first['id']} has the name twin too, so users must give the ID of the "
            "one that they mean; rename all but one if users shall give the name"
        ]


def test_flavor_that_gets_a_taken_name_has_a_warning(admin: Person, twins):
    path = f"flavors/{things.add_flavor(admin, name='single')['id']}"
    assert warnings(admin.patch(path, {"slots": 3}).json) == []
    (warning,) = warnings(admin.patch(path, {"name": "twin"}).json)
    assert f"The flavors {twins[0]['id']}, {twins[1]['id']} have the name twin too" in warning
    assert warnings(admin.patch(path, {"name": "other"}).json) == []
