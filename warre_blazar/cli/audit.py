"""The command that lists what the last audit has found."""

import argparse

from warre_blazar.cli import listing, time_display
from warre_blazar.client.types import AuditFinding

#: More than an audit keeps.
_ALL = 10**6


class ListDifferences(listing.ListObjects):
    """List the differences that the last audit has found, with what mends each of them.

    An operator makes an audit with warre-blazar-manage audit, which can also mend.
    """

    noun = "difference"
    nouns = "differences"
    columns = ("kind", "text", "needs", "remedy")
    long = ("subject", "meaning", "failure", "mended")

    def found(self, parsed_args: argparse.Namespace) -> list[AuditFinding]:
        report = self.v2.audit.get(size=_ALL)
        if report.finished_at is None:
            self.nothing = "There was no audit yet. Run warre-blazar-manage audit"
            return []
        self.tell(f"The audit ended at {time_display.brief(report.finished_at, self.where)}.")
        for service, reason in report.away.items():
            self.tell(f"{service} could not be compared: {reason}")
        return list(report.findings.items)
