"""The import of a Warre database: ``warre-blazar-manage import-warre``.

- ``reading`` reads Warre's database.
- ``domain.warre_import`` decides what becomes of each row.
- ``walking`` goes through the rows. Its ``take_over`` imports them. Its ``plan`` only reports.
- ``writing`` writes the rows that are imported.
- ``undoing`` restores the state before the import.
"""

from warre_blazar.services.keeping.warre_import.reading import Source, Unreadable
from warre_blazar.services.keeping.warre_import.report import Report
from warre_blazar.services.keeping.warre_import.undoing import Changed, can_be_undone, undo
from warre_blazar.services.keeping.warre_import.walking import plan, take_over

__all__ = [
    "Changed",
    "Report",
    "Source",
    "Unreadable",
    "can_be_undone",
    "plan",
    "take_over",
    "undo",
]
