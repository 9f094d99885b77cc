"""This package's filters for Blazar's usage enforcement.

Blazar has no entry point for filters. It looks filters up by name in its own module, so
``register`` adds this package's filters to that module when a plugin of this package is made.
Blazar makes plugins before it looks up filters, so ``flavor.slot.plugin`` enables them too.
"""

from collections.abc import Sequence

from blazar.enforcement import filters
from oslo_config import cfg

from warre_blazar.enforcement.credits import CreditsFilter
from warre_blazar.enforcement.max_length import FlavorMaxLengthFilter
from warre_blazar.enforcement.quota import ProjectQuotaFilter
from warre_blazar.enforcement.strict_lease import StrictLeaseFilter
from warre_blazar.site_rules import conditions

_USUAL = (StrictLeaseFilter, FlavorMaxLengthFilter, ProjectQuotaFilter)
_CLASSES = (*_USUAL, CreditsFilter)

#: The names of this package's filters that are enabled unless a site chooses among them.
FILTERS = [cls.__name__ for cls in _USUAL]
#: The names of all of this package's filters in ``[enforcement] enabled_filters``.
NAMES = [cls.__name__ for cls in _CLASSES]
#: The names of the filters that ask no service about a new lease with one reservation of this
#: package, and don't look at the hosts of a lease that ends.
_QUICK = {*FILTERS, "MaxLeaseDurationFilter"}


def register() -> None:
    """Add this package's filters to Blazar's module of filters, so that Blazar finds them."""
    for cls in _CLASSES:
        setattr(filters, cls.__name__, cls)
        if cls.__name__ not in filters.all_filters:
            filters.all_filters.append(cls.__name__)


def enabled(names: Sequence[str]) -> list[str]:
    """The names of the filters that are enabled with ``flavor.slot.plugin``.

    A site that names some of this package's filters has chosen among them. But nobody can do
    without ``StrictLeaseFilter``, because the plugin couldn't start and end some leases.

    :param names: the value of ``[enforcement] enabled_filters``.
    """
    needed = [conditions.STRICT_FILTER] if set(FILTERS) & set(names) else FILTERS
    return [*names, *(name for name in needed if name not in names)]


def enable() -> None:
    """Enable this package's filters in this process, whatever the configuration names."""
    cfg.CONF.set_override(
        "enabled_filters", enabled(cfg.CONF.enforcement.enabled_filters), group="enforcement"
    )


def is_quick() -> bool:
    """Whether only filters are enabled that ask no service, and don't look at hosts at an end."""
    return _QUICK.issuperset(cfg.CONF.enforcement.enabled_filters)


def withdraw() -> None:
    """Take this package's filters out of ``[enforcement] enabled_filters`` in this process.

    Blazar doesn't start if the option names a filter that it doesn't find.
    """
    left = [name for name in cfg.CONF.enforcement.enabled_filters if name not in NAMES]
    cfg.CONF.set_override("enabled_filters", left, group="enforcement")
