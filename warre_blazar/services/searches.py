"""Runs searches without garbage collection."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Suspend the garbage collector while the caller reads thousands of objects and keeps them all.

    A running collector would search these objects for garbage again and again. The caller would
    take about a quarter longer. The garbage of other threads is collected afterwards.

    Python has one garbage collector for the whole process, so it can't be suspended for one thread
    alone.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
