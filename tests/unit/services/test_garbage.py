import gc

import pytest

from warre_blazar.services import garbage


@pytest.fixture(autouse=True)
def collecting():
    yield
    gc.enable()


def test_garbage_is_looked_for_again_whatever_happened():
    with pytest.raises(ZeroDivisionError), garbage.uncollected():
        assert not gc.isenabled()
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_an_operator_who_collects_no_garbage_is_let_be():
    gc.disable()
    with garbage.uncollected():
        pass
    assert not gc.isenabled()
