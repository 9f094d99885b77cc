"""The page with the report of the last audit."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import AuditFinding, AuditReport
from warre_blazar.dashboard import pages, tables


class AuditPage(pages.PageView):
    """What the last audit has found, and when it was made."""

    template_name = "flavor_reservations/admin_audit.html"
    rule = "warre:audit:get"
    title = gettext_lazy("Audit")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        report = self.api.audit.get(self.number(), self.size())
        return super().get_context_data(
            report=report,
            age=report.finished_at and pages.now() - report.finished_at,
            away=sorted(report.away.items()),
            table=_table(report),
            pager=self.pager(report.findings),
            **kwargs,
        )


def _table(report: AuditReport) -> tables.Table:
    columns: dict[str, tables.Column] = {
        _("Difference"): lambda each: f"{each.text} ({each.kind})",
        _("What it means"): "meaning",
        _("What mends it"): "remedy",
        _("What that needs"): _needs,
    }
    empty = _("The audit has found no difference.") if report.finished_at else ""
    caption = _("Differences that the audit has found")
    return tables.of(caption, report.findings.items, columns, empty)


def _needs(each: AuditFinding) -> str:
    needs = _("nothing, it is mended") if each.mended else _needed(each.needs)
    if not each.failure:
        return needs
    why = _("It could not be mended: %(why)s") % {"why": each.failure}
    return f"{needs}. {why}"


def _needed(needs: str) -> str:
    if needs == "a person":
        return _("an operator who does it")
    return f"warre-blazar-manage audit {needs}"
