"""Which amounts of Nova's quota are too small for the servers of a reservation."""

import pytest

from tests.unit.domain import shapes
from warre_blazar.domain.booking import nova_quota


@pytest.mark.parametrize(
    ("limits", "lacking"),
    [
        pytest.param(None, {}, id="not known"),
        pytest.param({"instances": -1, "cores": -1, "ram": -1}, {}, id="unlimited"),
        pytest.param({"instances": 3, "cores": 12, "ram": 6144}, {}, id="just enough"),
        pytest.param({"instances": 3, "cores": 11, "ram": 6144}, {"cores": (11, 12)}, id="cores"),
        pytest.param({"ram": 6143}, {"ram": (6143, 6144)}, id="Nova tells only one limit"),
        pytest.param(
            {"instances": 0, "cores": 2, "ram": 1},
            {"instances": (0, 3), "cores": (2, 12), "ram": (1, 6144)},
            id="all",
        ),
    ],
)
def test_amounts_above_the_quota_are_told(limits: dict[str, int] | None, lacking: dict):
    told = nova_quota.shortage(limits, shapes.shape(vcpu=4, memory_mb=2048), 3)
    found = [each for warning in told for each in warning.data["resources"]]
    assert {each["resource"]: (each["limit"], each["asked"]) for each in found} == lacking
    assert len(told) == bool(lacking)
