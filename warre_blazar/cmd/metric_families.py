"""Makes Prometheus's metrics from the state of the site.

The names follow those of ``openstack_exporter``: ``openstack_``, the service and the metric. No
metric has a label with as many values as there are reservations, projects or users.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from oslo_log import log as logging
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString

from warre_blazar import times
from warre_blazar.cmd import setup_errors
from warre_blazar.domain.records.tallies import Histogram
from warre_blazar.services.hosts.host_status import HostState
from warre_blazar.services.records.metrics import NamedFlavor, Site

LOG = logging.getLogger(__name__)

_PREFIX = "openstack_blazar_"
_FLAVOR = ("flavor_id", "flavor")

#: A site without anything, from which ``describe`` makes the metrics.
_NOTHING = Site(
    reservations={},
    overdue={},
    slots={},
    slot_uses={},
    hosts=(),
    delays={},
    repairs={},
    silences={},
    managers_alive=0,
    refusals={},
    outbox={},
)


class Collector:
    """Reads the site each time that Prometheus asks."""

    def __init__(self, read: Callable[[], Site]) -> None:
        self._read = read

    def describe(self) -> list[Metric]:
        """The metrics without values."""
        return [_up(), *_families(_NOTHING)]

    def collect(self) -> Iterator[Metric]:
        """The metrics with the values of the present.

        If the database can't be read, there is only the metric ``up``, with the value 0.
        """
        up = _up()
        try:
            site = self._read()
        except setup_errors.DATABASE as error:
            LOG.error("%s", setup_errors.database(error))
            up.add_metric((), 0)
            yield up
            return
        up.add_metric((), 1)
        yield up
        yield from _families(site)


def _up() -> GaugeMetricFamily:
    return _gauge("up", "Whether Blazar's database could be read (1) or not (0).")


def _families(site: Site) -> Iterator[Metric]:
    for part in _PARTS:
        yield from part(site)


def _reservations(site: Site) -> Iterator[Metric]:
    numbers = _gauge(
        "reservations",
        "Number of reservations that aren't over, by flavor and state.",
        *(*_FLAVOR, "state"),
    )
    instances = _gauge(
        "reserved_instances",
        "Number of instances of the reservations that aren't over, by flavor and state.",
        *(*_FLAVOR, "state"),
    )
    for (flavor, state), amount in site.reservations.items():
        numbers.add_metric((*_labels(flavor), state), amount.reservations)
        instances.add_metric((*_labels(flavor), state), amount.instances)
    overdue = _gauge(
        "reservations_overdue",
        "Number of reservations that should have started or ended more than a minute ago, and "
        "haven't, or not completely.",
        "action",
    )
    for action, number in site.overdue.items():
        overdue.add_metric((action,), number)
    yield from (numbers, instances, overdue)


def _slots(site: Site) -> Iterator[Metric]:
    slots = _gauge("flavor_slots", "Number of slots of a flavor.", *_FLAVOR)
    for flavor, number in site.slots.items():
        slots.add_metric(_labels(flavor), number)
    booked = _gauge(
        "slots_booked",
        "Number of slots of a flavor that are booked now, or so many days from now.",
        *(*_FLAVOR, "days_ahead"),
    )
    free = _gauge(
        "slots_free",
        "Number of slots of a flavor that could still be booked for the present minute, or for a "
        "minute so many days from now.",
        *(*_FLAVOR, "days_ahead"),
    )
    closed = _gauge(
        "slots_closed",
        "Number of slots of a flavor that aren't booked and can't be booked now, or so many days "
        "from now, because the flavor is inactive, not valid, or in a maintenance window.",
        *(*_FLAVOR, "days_ahead"),
    )
    for (flavor, days), use in site.slot_uses.items():
        labels = (*_labels(flavor), str(days))
        booked.add_metric(labels, use.booked)
        free.add_metric(labels, use.free)
        closed.add_metric(labels, use.closed)
    yield from (slots, booked, free, closed)


def _hosts(site: Site) -> Iterator[Metric]:
    states = _gauge(
        "hosts",
        "Number of hosts by state: bookable, draining, failed, gone from Nova, or abandoned "
        "because servers may be left there.",
        "state",
    )
    by_state = Counter(host.state for host in site.hosts)
    for state in HostState:
        states.add_metric((state.value,), by_state[state])
    capacity = _gauge(
        "host_resource_capacity",
        "How much of a resource class a host has, in the unit of the class.",
        *("hostname", "resourcetype"),
    )
    booked = _gauge(
        "host_resource_booked",
        "How much of a resource class of a host is booked now, in the unit of the class.",
        *("hostname", "resourcetype"),
    )
    for status in site.hosts:
        for use in status.uses:
            labels = (status.host.name, use.resource_class)
            capacity.add_metric(labels, use.capacity)
            booked.add_metric(labels, use.now)
    yield from (states, capacity, booked)


def _delays(site: Site) -> Iterator[Metric]:
    delays = HistogramMetricFamily(
        f"{_PREFIX}execution_delay_seconds",
        "How many seconds after their time leases were started or ended.",
        labels=("action",),
    )
    for action, histogram in site.delays.items():
        delays.add_metric((action,), _buckets(histogram), histogram.total)
    yield delays


def _buckets(histogram: Histogram) -> Sequence[tuple[str, float]]:
    return [(floatToGoString(limit), count) for limit, count in histogram.buckets]


def _repairs(site: Site) -> Iterator[Metric]:
    yield _counter(
        "repairs",
        "Number of leases that were repaired, by the row of the table of lease states.",
        "row",
        site.repairs,
    )


def _refusals(site: Site) -> Iterator[Metric]:
    # Prometheus takes the fall at midnight for a restart, so rates and increases are right.
    yield _counter(
        "refusals",
        "Number of requests to book or to change a reservation that a rule has refused since "
        "midnight (UTC), by the code of the error.",
        "code",
        site.refusals,
    )


def _managers(site: Site) -> Iterator[Metric]:
    alive = _gauge("managers_alive", "Number of managers that are alive.")
    alive.add_metric((), site.managers_alive)
    silence = _gauge(
        "manager_heartbeat_age_seconds",
        "Seconds since the last heartbeat of a manager on a machine. A machine is left out after "
        "a day.",
        "hostname",
    )
    for machine, seconds in site.silences.items():
        silence.add_metric((machine,), seconds)
    yield from (alive, silence)


def _outbox(site: Site) -> Iterator[Metric]:
    waiting = _gauge(
        "outbox_notices", "Number of notices that a channel has yet to send.", "channel"
    )
    age = _gauge(
        "outbox_oldest_age_seconds",
        "Seconds for which the oldest of these notices has been waiting.",
        "channel",
    )
    given_up = _gauge(
        "outbox_given_up",
        "Number of notices that a channel has given up within the last "
        f"{times.LOST_NOTICES_SHOWN_FOR.days} days.",
        "channel",
    )
    for channel, queue in site.outbox.items():
        waiting.add_metric((channel,), queue.waiting)
        age.add_metric((channel,), queue.age.total_seconds())
        given_up.add_metric((channel,), queue.given_up)
    yield from (waiting, age, given_up)


#: Each part makes the metrics of one thing. Further things are added here.
_PARTS: Sequence[Callable[[Site], Iterator[Metric]]] = (
    _reservations,
    _slots,
    _hosts,
    _delays,
    _repairs,
    _refusals,
    _managers,
    _outbox,
)


def _counter(name: str, text: str, label: str, numbers: Mapping[str, int]) -> CounterMetricFamily:
    """A counter that has each of the numbers under its key, which is the value of the label."""
    family = CounterMetricFamily(f"{_PREFIX}{name}", text, labels=(label,))
    for value, number in numbers.items():
        family.add_metric((value,), number)
    return family


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=labels)


def _labels(flavor: NamedFlavor) -> tuple[str, str]:
    return flavor.id, flavor.name
