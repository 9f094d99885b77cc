"""This package's filters for Blazar's usage enforcement.

Blazar has no entry point for filters. It looks filters up by name in its own module, so
``register`` adds this package's filters to that module when the plugin is imported.
"""

from blazar.enforcement import filters

from warre_blazar.enforcement.max_length import FlavorMaxLengthFilter
from warre_blazar.enforcement.quota import ProjectQuotaFilter
from warre_blazar.enforcement.strict_lease import StrictLeaseFilter

_CLASSES = (StrictLeaseFilter, FlavorMaxLengthFilter, ProjectQuotaFilter)

#: The names of this package's filters in ``[enforcement] enabled_filters``.
FILTERS = [cls.__name__ for cls in _CLASSES]


def register() -> None:
    """Add this package's filters to Blazar's module of filters, so that Blazar finds them."""
    for cls in _CLASSES:
        setattr(filters, cls.__name__, cls)
        if cls.__name__ not in filters.all_filters:
            filters.all_filters.append(cls.__name__)
