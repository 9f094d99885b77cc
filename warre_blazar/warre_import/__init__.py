"""The import of a Warre database: ``warre-blazar-manage import-warre``, and its undo.

A site imports once. So nothing of this package is needed by others, except that the audit asks for
the leases that an undo would give back.

- ``reading`` reads Warre's database. ``rows`` reads the values of a row.
- ``flavors`` and ``reservations`` decide whether and how a row is imported, only from what their
  callers pass to them. A ``verdicts.Verdict`` says what was decided.
- ``walking`` goes through the rows. Its ``take_over`` imports them. Its ``plan`` does the same, and
  rolls back.
- ``writing`` writes the rows that are imported (``blazar_rows``), and seals them (``seals``).
- ``undoing`` restores the state before the import, if the seals are whole.
- ``bot`` finds the leases that still need Warre's user.

Times are naive datetimes in UTC.
"""

from warre_blazar.warre_import.bot import NeedsBot, needs_bot
from warre_blazar.warre_import.reading import Source, Unreadable
from warre_blazar.warre_import.report import Report
from warre_blazar.warre_import.undoing import ChangedSinceImport, leases_to_give_back, undo
from warre_blazar.warre_import.walking import plan, take_over

__all__ = [
    "ChangedSinceImport",
    "NeedsBot",
    "Report",
    "Source",
    "Unreadable",
    "leases_to_give_back",
    "needs_bot",
    "plan",
    "take_over",
    "undo",
]
