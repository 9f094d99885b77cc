import gc

import pytest

from warre_blazar.services import searches


@pytest.fixture(autouse=True)
def collecting():
    yield
    gc.enable()


def test_collector_is_enabled_again_after_an_error():
    with pytest.raises(ZeroDivisionError), searches.uncollected():
        assert not gc.isenabled()
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_collector_that_was_disabled_stays_disabled():
    gc.disable()
    with searches.uncollected():
        pass
    assert not gc.isenabled()
