"""The manager executes events in the contexts of their leases, with and without asyncio."""

import asyncio
import inspect
from typing import Any

import pytest
from blazar.manager import service

from warre_blazar.plugins import lease_contexts

EVENT = {"lease_id": "one"}


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The leases whose contexts were asked for."""
    asked: list[str] = []
    monkeypatch.setattr(lease_contexts, "_of_lease", asked.append)
    return asked


class WithAsyncio:
    """Blazar 18's manager."""

    async def execute(self, event: dict[str, str]) -> None:
        lease_contexts._make.get()()


class WithEventlet:
    """Blazar 17's manager, which executes each event in a green thread."""

    def execute(self, event: dict[str, str]) -> None:
        lease_contexts._make.get()()


@pytest.mark.parametrize("kind", [WithAsyncio, WithEventlet])
def test_event_is_executed_in_the_context_of_its_lease(kind: Any, leases: list[str]):
    outcome = lease_contexts._executing(kind.execute)(kind(), EVENT)
    if kind is WithAsyncio:
        asyncio.run(outcome)
    assert leases == ["one"]


def test_installed_blazar_gets_a_method_of_its_own_kind():
    method = service.ManagerService._exec_event
    assert inspect.iscoroutinefunction(
        lease_contexts._executing(method)
    ) is inspect.iscoroutinefunction(method)
