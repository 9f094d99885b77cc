"""Segments of paths that are attributes of controllers are answered like any other word."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.wsgi import sending

#: Attributes of controllers, of Pecan's classes and of any Python object.
ATTRIBUTES = (
    "name",
    "extra_routes",
    "extension_manager",
    "versions",
    "get_all",
    "post",
    "_route",
    "_custom_actions",
    "__class__",
    "__doc__",
    "__dict__",
    "__init__",
)
RESOURCES = (
    "flavors",
    "flavorprojects",
    "reservations",
    "maintenancewindows",
    "limits",
    "warre",
    "warre/v1",
    "warre/v1/reservations",
    "leases",
    "os-hosts",
)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE")
#: The forms of paths below a resource.
BELOW = ("{}", "{}/", "{}/x", "x/{}", "{}/freeslots")


def answered(site, method: str, path: str) -> tuple[int, str]:
    answer = sending.send(site.app, method, path, b"{}", who="admin")
    return answer.status_int, answer.content_type


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("resource", RESOURCES)
def test_attribute_is_answered_like_any_word(site, resource: str, method: str):
    for below in BELOW:
        path = f"/v2/{resource}/{below}"
        usual = answered(site, method, path.format("random"))
        assert usual[0] < 500
        for word in ATTRIBUTES:
            assert answered(site, method, path.format(word)) == usual, path.format(word)


@pytest.mark.parametrize("method", METHODS)
def test_attribute_of_the_root_is_answered_like_any_word(site, method: str):
    for path in ("/{}", "/{}/", "/{}/x", "/{}/index", "/v2/{}", "/v2/{}/", "/v2/{}/x"):
        usual = answered(site, method, path.format("random"))
        for word in (*ATTRIBUTES, "index"):
            if (path[:3], word) != ("/{}", "versions"):  # which is a path of Blazar's
                assert answered(site, method, path.format(word)) == usual, path.format(word)


@pytest.mark.parametrize("name", [".", "..", "a/b", "/", "freeslots"])
def test_name_that_no_path_can_have_is_refused(admin: Person, name: str):
    made = things.add_flavor(admin, name="gpu")
    created = admin.post("flavors", {**things.FLAVOR, "name": name})
    renamed = admin.patch(f"flavors/{made['id']}", {"name": name})
    for answer, status in ((created, 422), (renamed, 400)):
        assert refusal(answer) == (status, "invalid_field")
        assert answer.json["detail"]["field"] == "name"


@pytest.mark.parametrize("name", ["post", "get_all", "name", "new", "delete", "__doc__", "a.b"])
def test_flavor_with_the_name_of_an_attribute_is_found(admin: Person, name: str):
    made = things.add_flavor(admin, name=name)
    assert admin.get(f"flavors/{name}").json["id"] == made["id"]
    assert admin.get(f"flavors/{name}/freeslots").status_int == 200
    assert admin.patch(f"flavors/{name}", {"slots": 3}).status_int == 200
    assert admin.delete(f"flavors/{name}").status_int == 204


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("number", ["2147483648", "9" * 30, "9" * 5000], ids=["32", "96", "many"])
def test_number_that_no_host_can_have_is_not_found(site, method: str, number: str):
    assert answered(site, method, f"/v2/os-hosts/{number}")[0] == 404
