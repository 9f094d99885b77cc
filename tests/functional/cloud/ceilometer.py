"""A real notification agent of ceilometer, which writes samples of reservations into a file."""

import contextlib
import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.functional.cloud import devcloud
from tests.functional.cloud.waiting import LONG

_METERS = pathlib.Path(__file__).resolve().parents[3] / "etc" / "ceilometer"


class Agent:
    """The agent, and what it has published."""

    def __init__(self, samples: pathlib.Path, process: "subprocess.Popen[bytes]") -> None:
        self._samples = samples
        self._process = process

    def samples(self, resource_id: str) -> list[dict[str, Any]]:
        """The samples of a reservation, in the order in which they were published."""
        assert self._process.poll() is None, "the agent has ended; its log says why"
        if not self._samples.exists():
            return []
        lines = self._samples.read_text().splitlines()
        found = [json.loads(line) for line in lines if line.strip()]
        return [sample for sample in found if sample["resource_id"] == resource_id]


@contextlib.contextmanager
def running(directory: pathlib.Path) -> Iterator[Agent]:
    """Install the agent, and run it while the block runs."""
    program = devcloud.environment(directory, "ceilometer") / "ceilometer-agent-notification"
    samples = directory / "samples"
    config, pipeline = directory / "ceilometer.conf", directory / "pipeline.yaml"
    rabbit = devcloud.option("DEFAULT", "transport_url")
    config.write_text(
        f"[DEFAULT]\ntransport_url = {rabbit}\npipeline_cfg_file = {pipeline}\n"
        f"[notification]\nnotification_control_exchanges = openstack\npipelines = meter\n"
        f"[meter]\nmeter_definitions_dirs = {_METERS}\n"
    )
    source = {"name": "all", "meters": ["reservation*"], "sinks": ["file"]}
    sink = {"name": "file", "publishers": [f"file://{samples}?json"]}
    # JSON is YAML.
    pipeline.write_text(json.dumps({"sources": [source], "sinks": [sink]}))
    log_path = directory / "agent.log"
    with log_path.open("w") as log:
        agent = subprocess.Popen(
            [program, "--config-file", config],
            stdout=log,
            stderr=log,
        )
        try:
            yield Agent(samples, agent)
        finally:
            agent.terminate()
            agent.wait(LONG)
            # pytest shows this if the test fails.
            print(log_path.read_text()[-5000:])
            print(samples.read_text() if samples.exists() else "no samples")
