"""The import of a Warre database: ``warre-blazar-manage import-warre``.

``reading`` reads Warre's database, ``domain.warre_import`` decides what becomes of each row,
``writing`` writes the rows that the import takes, and ``undoing`` restores the state before the
import. ``plan`` and ``take_over`` go through the same rows in the same way (``walking``), but
``plan`` writes nothing.
"""

from warre_blazar.services.keeping.warre_import.reading import Source, Unreadable
from warre_blazar.services.keeping.warre_import.report import Report
from warre_blazar.services.keeping.warre_import.undoing import Changed, undo
from warre_blazar.services.keeping.warre_import.walking import plan, take_over

__all__ = ["Changed", "Report", "Source", "Unreadable", "plan", "take_over", "undo"]
