"""Usage enforcement filters. Blazar has no entry point for them: it looks them up by name in its
own module, so they are put there when the plugin is imported (``register``)."""

from blazar.enforcement import filters

from warre_blazar.enforcement.max_length import FlavorMaxLengthFilter
from warre_blazar.enforcement.quota import ProjectQuotaFilter
from warre_blazar.enforcement.strict_lease import StrictLeaseFilter

_CLASSES = (StrictLeaseFilter, FlavorMaxLengthFilter, ProjectQuotaFilter)

#: Names for ``[enforcement] enabled_filters``.
FILTERS = [cls.__name__ for cls in _CLASSES]


def register() -> None:
    """Let Blazar find our filters by name."""
    for cls in _CLASSES:
        setattr(filters, cls.__name__, cls)
        if cls.__name__ not in filters.all_filters:
            filters.all_filters.append(cls.__name__)
