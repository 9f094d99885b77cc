import gc
import weakref

import pytest

from tests.unit.domain.clock import span
from tests.unit.domain.hosts.selling import ONE, ROOT, book, gpus
from tests.unit.domain.placement_reference import host
from warre_blazar.domain.hosts.placing import Choice, Wanted
from warre_blazar.domain.moves.move_plans import MoveLimits
from warre_blazar.domain.moves.must_move import Movable
from warre_blazar.domain.moves.room_by_moves import RoomByMoves
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


def test_searched_hosts_are_freed_without_the_collector():
    # Searches make hundreds of hosts. To find them again would take longer than the search.
    window = span(1, 2)
    one = book(host(ROOT, *gpus(2, 1)), "other", ONE, 2, window)
    movable = Movable("other", ONE.request, window, {one.id: 2}, [one.id])
    gc.disable()
    copy = one.copy()
    wanted = Wanted(ONE.request, 1, window)
    _ = Choice([copy], wanted).places, copy.levels(ONE.request, window, 1)
    vacating = RoomByMoves([copy], [movable], MoveLimits(20))
    assert vacating.place(wanted, [copy.id]) is None
    freed = weakref.ref(copy), weakref.ref(vacating)
    del copy, vacating
    assert [each() for each in freed] == [None, None]
