"""The summary that is printed at the end."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from tests.torture.calm import Absence
from tests.torture.outages import summary


@dataclasses.dataclass
class Report:
    """What came of a run."""

    seed: int
    seconds: float
    operations: Mapping[tuple[str, str], Counter[str]]
    errors: Mapping[str, Counter[str]]
    absences: Sequence[Absence]
    looks: Counter[str]
    checked: Counter[str]
    violations: list[str]
    audit: list[str]
    end: list[str]
    failures: list[str]
    ended_early: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.violations or self.end or self.failures)

    def lines(self) -> list[str]:
        """The summary."""
        total = sum(sum(each.values()) for each in self.operations.values())
        return [
            f"torture: seed {self.seed}, {self.seconds / 60:.1f} minutes"
            + (", ended early" if self.ended_early else ""),
            "",
            f"{total} operations by kind, way and answer:",
            *_operations(self.operations),
            "",
            f"{len(self.absences)} outages:",
            *(f"  {line}" for line in summary(self.absences)),
            "",
            "5xx and no answer, and what was away or recovering then:",
            *_errors(self.errors),
            "",
            "the judge:",
            *(f"  {number} {what}" for what, number in self.looks.items()),
            *(f"  {number} {what}" for what, number in self.checked.items()),
            "",
            f"{len(self.violations)} violations",
            *(f"  {text}" for text in self.violations),
            "",
            "at the end, with all services there:",
            *(f"  {line}" for line in (*self.audit, *self.end)),
            *(f"the test itself failed: {text}" for text in self.failures),
            "",
            "nothing found" if self.is_clean else "FAILED",
        ]


def _operations(operations: Mapping[tuple[str, str], Counter[str]]) -> list[str]:
    lines = []
    for (kind, way), answers in sorted(operations.items()):
        told = ", ".join(f"{name} x{number}" for name, number in answers.most_common())
        lines.append(f"  {kind:7} {way:6} {sum(answers.values()):4}: {told}")
    return lines


def _errors(errors: Mapping[str, Counter[str]]) -> list[str]:
    lines = []
    for answer, causes in sorted(errors.items()):
        lines.append(f"  {answer}: {sum(causes.values())}")
        lines += [f"    {number} x {cause}" for cause, number in causes.most_common(8)]
    return lines
