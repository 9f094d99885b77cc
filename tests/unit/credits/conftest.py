"""A site whose leases are charged by a credits service, which each test sets up anew."""

from collections.abc import Callable, Iterator

import pytest
from oslo_utils import timeutils

from tests.fakes.chameleon_portal import ChameleonPortal
from tests.fakes.coral_credits import CoralCredits
from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.credits import charged_site
from tests.unit.credits.charged_site import AUTH_URL, ChargedSite
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import timer


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeSite]:
    """The running site, whatever is in it."""
    with WholeSite(tmp_path_factory.mktemp("site")) as site:
        yield site
    timeutils.clear_time_override()


@pytest.fixture
def site(running: WholeSite, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChargedSite]:
    """The site with three hosts and a public Nova flavor. Ids of people are UUIDs, as usual."""
    running.clear()
    monkeypatch.setattr(timer, "clock", running.clock)
    charged_site.prepare(monkeypatch)
    running.furnish()
    yield ChargedSite(running)
    running.settle()


@pytest.fixture
def configured(site: ChargedSite) -> Iterator[Callable[..., None]]:
    """A function that enables the filter with options."""
    with charged_site.filtering(site.blazar) as configure:
        yield configure


@pytest.fixture(scope="package")
def coral_service() -> Iterator[CoralCredits]:
    made = CoralCredits()
    yield made
    made.stop()


@pytest.fixture
def coral(coral_service: CoralCredits, configured: Callable[..., None]) -> CoralCredits:
    """Coral Credits, where alpha's project has credits of the usual classes."""
    coral_service.start()
    coral_service.mend()
    coral_service.forget()
    alpha = identity.project_id("alpha")
    coral_service.grant(alpha, VCPU=100, MEMORY_MB=100_000, DISK_GB=1000)
    configured(credits_url=coral_service.url, credits_token=coral_service.token)
    return coral_service


@pytest.fixture
def portal(site: ChargedSite, configured: Callable[..., None]) -> Iterator[ChameleonPortal]:
    """Chameleon's portal."""
    made = ChameleonPortal(site.blazar.cloud.keystone, AUTH_URL)
    configured(credits_api="chameleon-portal", credits_url=f"{made.url}/")
    yield made
    made.stop()


@pytest.fixture
def admin(site: ChargedSite) -> Person:
    return Person(site.blazar.app, "admin")


@pytest.fixture
def alpha(site: ChargedSite) -> Person:
    """A member of a project."""
    return Person(site.blazar.app, "alpha")


@pytest.fixture
def flavor(admin: Person) -> dict[str, object]:
    """A flavor with 2 VCPUs, 2048 MiB and 20 GB."""
    return things.add_flavor(admin)
