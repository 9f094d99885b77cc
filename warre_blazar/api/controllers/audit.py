"""The controller of /audit: the report of the last audit."""

from typing import Any

import pecan

from warre_blazar import policy
from warre_blazar.api import parsing, views
from warre_blazar.api.controllers import base
from warre_blazar.policies import audit as policies
from warre_blazar.services import audit


class AuditController(base.Controller):
    """What the last audit has found. ``warre-blazar-manage audit`` makes audits."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.GET)
        limit, offset = base.page_of(parsing.query(pecan.request, base.PAGING))
        report = audit.last_report()
        findings = report.findings if report else ()
        end = None if limit is None else offset + limit
        page = [views.audit_finding(each) for each in findings[offset:end]]
        return {
            **views.audit(report),
            **base.listing(page, len(findings), limit, offset),
        }
