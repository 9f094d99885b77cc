"""What each user does and what is taken away, by nothing but the seed.

A choice doesn't depend on what a user was answered before: where it needs a reservation it says
which one as a fraction of those that the user then knows.
"""

import dataclasses
import random
from collections.abc import Iterator

#: The ways in: our API, Warre's paths in it, and Blazar's leases.
V2, WARRE, V1 = "v2", "warre", "v1"

BOOK, CHANGE, COUNT, DELETE = "book", "change", "count", "delete"
BOOT, LIST, SHOW, FREE, STUPID = "boot", "list", "show", "free", "stupid"
#: An operation on a lease of one of Blazar's own resource types.
STOCK = "stock"
#: How the names of these leases begin.
STOCK_NAME = "stock-"
#: Operations and how often each is chosen.
_KINDS = {
    BOOK: 30,
    CHANGE: 22,
    COUNT: 8,
    DELETE: 10,
    BOOT: 10,
    LIST: 6,
    SHOW: 3,
    FREE: 4,
    STUPID: 7,
}
#: How often an operation is about Blazar's own types, where these are booked exactly.
_STOCK_WEIGHT = 25
_WAYS = {V2: 4, WARRE: 3, V1: 4}

#: How a time is changed.
EXTEND, SHORTEN, MOVE = "extend", "shorten", "move"
_CHANGES = {EXTEND: 4, SHORTEN: 3, MOVE: 4}

#: Seconds after which a client gives up waiting, and how often.
_PATIENCE = {6.0: 1, 20.0: 3, 75.0: 6}


@dataclasses.dataclass(frozen=True)
class Choice:
    """One operation of one user."""

    kind: str
    way: str
    #: Of a booking and of what is moved: minutes from the present to the start, and the length.
    start: int
    length: int
    count: int
    #: Numbers of flavors; the second one goes into the same lease, over v1.
    flavor: int
    second: int | None
    #: Which of the known reservations, from 0 to 1.
    which: float
    change: str
    #: Minutes by which an end is moved.
    by: int
    #: Which of the stupid requests.
    variant: int
    #: Seconds to wait for the answer, and before the operation.
    patience: float
    pause: float


def of_user(seed: int, user: int, *, stock: bool = False) -> Iterator[Choice]:
    """The choices of a user, without end.

    :param stock: whether to book Blazar's own resource types too.
    """
    kinds = _KINDS | ({STOCK: _STOCK_WEIGHT} if stock else {})
    draw = random.Random(f"user {user} of seed {seed}")
    while True:
        soon = draw.random() < 0.5
        start = _weighted(draw, {0: 3, 1: 2, 2: 2, 3: 1}) if soon else draw.randrange(5, 180)
        yield Choice(
            kind=_weighted(draw, kinds),
            way=_weighted(draw, _WAYS),
            start=start,
            length=draw.randrange(2, 7) if soon else draw.randrange(10, 90),
            count=_weighted(draw, {1: 5, 2: 3, 3: 1}),
            flavor=draw.randrange(1000),
            second=draw.randrange(1000) if draw.random() < 0.3 else None,
            which=draw.random(),
            change=_weighted(draw, _CHANGES),
            by=draw.randrange(1, 20),
            variant=draw.randrange(1000),
            patience=_weighted(draw, _PATIENCE),
            pause=draw.uniform(0.2, 2.0),
        )


KILL, STOP, HANG = "kill -9", "stop", "hang"

#: What is taken away, and how often. A pattern stands for one of the services that match it;
#: with ``WORKER`` it is one process of the service that was started by another.
WORKER = "/worker"
TARGETS = {
    "mariadb": 3,
    "rabbitmq": 3,
    "keystone": 3,
    "placement": 3,
    "nova-api": 3,
    "nova-conductor": 1,
    "nova-scheduler": 1,
    "nova-compute-*": 1,
    "blazar-manager*": 6,
    "blazar-api": 3,
    f"blazar-api{WORKER}": 2,
}


@dataclasses.dataclass(frozen=True)
class Outage:
    """One outage."""

    target: str
    #: Which of the services that match, from 0 to 1.
    which: float
    way: str
    #: Seconds until it is started again, or goes on.
    seconds: float


def of_outages(seed: int) -> Iterator[Outage]:
    """The outages, without end."""
    draw = random.Random(f"outages of seed {seed}")
    while True:
        target = _weighted(draw, TARGETS)
        yield Outage(
            target=target,
            which=draw.random(),
            # A worker can't be stopped for a while: its service replaces it.
            way=KILL if target.endswith(WORKER) else _weighted(draw, {KILL: 4, STOP: 2, HANG: 4}),
            seconds=round(draw.uniform(1, 12), 1),
        )


def _weighted(draw: random.Random, weights: dict) -> object:
    return draw.choices(list(weights), list(weights.values()))[0]
