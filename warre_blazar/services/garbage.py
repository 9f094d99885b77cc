"""Python's collection of garbage, where it is in the way."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for garbage among thousands of rows that are all still needed.

    It would again and again while they are read and swept over, for a quarter of the time. Other
    threads' garbage is only looked for a little later.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
