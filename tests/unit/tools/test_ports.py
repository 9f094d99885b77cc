"""The ports of dev clouds that run side by side."""

from devcloud_lib.ports import BESIDE, GIVEN_FROM, Ports

#: The offset of the usual cloud is 0.
_OFFSETS = (0, *BESIDE.values())


def _ports(offset: int) -> list[int]:
    fields = vars(Ports.moved(offset))
    return [port for name, port in fields.items() if name != "offset"]


def test_no_two_services_of_any_clouds_have_one_port() -> None:
    taken = [port for offset in _OFFSETS for port in _ports(offset)]
    assert len(taken) == len(set(taken))


def test_linux_gives_no_port_of_a_cloud_to_another_program() -> None:
    assert max(max(_ports(offset)) for offset in _OFFSETS) < GIVEN_FROM
