"""``warre-blazar-manage flavor check``, and what real tables of flavors give it to check."""

import pathlib
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.cmd import manage
from warre_blazar.db import session, tables
from warre_blazar.domain.flavors.flavor import Flavor


@pytest.fixture
def check(
    database: sa.Engine, cloud: Cloud, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """Runs the command: its exit status, the lines that it prints, and its errors."""
    config = tmp_path / "blazar.conf"
    url = database.url.render_as_string(hide_password=False)
    config.write_text(f"[database]\nconnection = {url}\n")

    def run(*words: str) -> tuple[int, list[str], str]:
        capsys.readouterr()
        status = manage.main(["--config-file", str(config), "flavor", "check", *words])
        told = capsys.readouterr()
        return status, told.out.splitlines(), told.err

    return run


def imported(name: str, extra_specs: dict[str, str]) -> Flavor:
    """A flavor that came into the table without a question to Nova and Placement."""
    flavor = world.add_flavor(name=name)
    with session.writer() as db:
        this = tables.flavors.c.id == flavor.id
        db.execute(tables.flavors.update().where(this).values(extra_specs=extra_specs))
    return flavor


def test_each_flavor_is_checked(cloud: Cloud, check):
    cloud.add_elsewhere()
    fine = world.add_flavor(name="a", extra_specs={"hw:cpu_policy": "shared"})
    typo = imported("b", {"trait:CUSTOM_TYPO": "forbidden", "hw:cpu_polizy": "shared"})
    large = world.add_flavor(name="c", vcpu=10**7, extra_specs={"hw:cpu_policy": "shared"})
    status, lines, _ = check()
    assert status == 1
    accepted = f"a ({fine.id}): Nova and Placement accept it, "
    assert lines[0] == accepted + "but no host of Blazar that can be booked could hold it"
    assert lines[1].startswith(f"b ({typo.id}) could never boot: Nova refused: ")
    assert "hw:cpu_polizy" in lines[1]
    assert "; Placement refused: No such trait(s): CUSTOM_TYPO." in lines[1]
    assert lines[2].startswith(f"c ({large.id}): Placement finds no host")
    assert len(lines) == 3
    world.add_host(cloud, "h")
    assert check("a")[1] == [accepted + "and 1 host of Blazar could hold it"]
    # What there is no room for now may boot later.
    assert check("c")[0] == check(fine.id)[0] == 0


def test_services_that_cannot_be_asked_are_a_failure(cloud: Cloud, check):
    cloud.add_elsewhere()
    flavor = world.add_flavor(name="a", extra_specs={"hw:cpu_policy": "shared"})
    cloud.nova.fail(status=503)
    status, lines, _ = check()
    assert status == 1
    assert lines[0].startswith(f"a ({flavor.id}): It isn't known whether ")


def test_unknown_flavor_is_a_failure(check):
    status, lines, error = check("nothing")
    assert (status, lines) == (1, [])
    assert error == "warre-blazar-manage: Flavor nothing does not exist\n"
