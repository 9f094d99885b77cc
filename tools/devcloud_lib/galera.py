"""A Galera cluster of three MariaDB nodes on this machine, for tests.

The nodes begin as copies of one empty server. A node that was stopped or killed rejoins by fetching
the transactions that it lacks from the cache of another node. The data are never copied as a whole,
so that galera-4 is the only additional Debian package.
"""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

from devcloud_lib import apt, mariadb, processes, readiness
from devcloud_lib.console import Failure
from devcloud_lib.ports import free_port

NODES = (1, 2, 3)
DATABASE = "blazar"
_PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
_BIN = Path(__file__).resolve().parent / "galera_bin"
_POSITION = re.compile(r"Recovered position:? (\S+:-?\d+)")
#: Seconds until a node has joined the others.
_PATIENCE = 120


def missing_packages() -> list[str]:
    """Return the Debian packages that have to be installed."""
    return [*mariadb.missing_packages(), *([] if _PROVIDER.exists() else ["galera-4"])]


def install(home: Path) -> list[str]:
    """Install the missing packages, and return their names."""
    missing = missing_packages()
    apt.install(missing, home / "log" / "apt.log")
    return missing


def start(home: Path) -> None:
    """Start the cluster unless all of its nodes run. If only some run, make it anew."""
    if all(processes.running(_pid_file(home, node)) for node in NODES):
        return
    stop(home)
    _make_data(home)
    _start(home, 1, "gcomm://")
    for node in NODES[1:]:
        rejoin(home, node)


def stop(home: Path) -> bool:
    """Stop all nodes and remove their data. Return whether any was running."""
    files = [_pid_file(home, node) for node in NODES]
    ran = processes.stop(files, with_signal=signal.SIGKILL) > 0
    shutil.rmtree(home / "galera", ignore_errors=True)
    return ran


def kill(home: Path, node: int) -> None:
    """Kill a node, as a power failure of its machine would."""
    processes.stop([_pid_file(home, node)], with_signal=signal.SIGKILL)


def leave(home: Path, node: int) -> None:
    """Shut a node down, as for maintenance."""
    processes.stop([_pid_file(home, node)], patience=60)


def rejoin(home: Path, node: int) -> None:
    """Start a node that was stopped or killed, and wait until it has caught up."""
    ports = _ports(home)
    others = [ports[n]["group"] for n in NODES if n != node and _runs(home, n)]
    if not others:
        raise Failure(f"node {node} cannot join, because no other node runs")
    members = ",".join(f"127.0.0.1:{port}" for port in others)
    _start(home, node, f"gcomm://{members}", f"--wsrep-start-position={_position(home, node)}")


def urls(home: Path) -> list[str]:
    """Return the URL of the database on each node."""
    if not any(_runs(home, node) for node in NODES):
        raise Failure(f"no Galera cluster runs in {home}: run `up --galera` first")
    ports = _ports(home)
    return [mariadb.url(ports[node]["sql"], DATABASE, charset="utf8") for node in NODES]


def _runs(home: Path, node: int) -> bool:
    return processes.running(_pid_file(home, node)) is not None


def _make_data(home: Path) -> None:
    """Make the data of one server, with database and account, and copy them to all nodes."""
    first, log = _directory(home, 1), _log(home, 1)
    first.mkdir(parents=True)
    _write_ports(home)
    mariadb.create(first, [DATABASE], log)
    _start(home, 1, "gcomm://")
    processes.stop([_pid_file(home, 1)], patience=60)
    for node in NODES[1:]:
        shutil.copytree(first, _directory(home, node))
        (_directory(home, node) / "data" / "galera.cache").unlink(missing_ok=True)


def _start(home: Path, node: int, cluster: str, *options: str) -> None:
    ports = _ports(home)[node]
    record = processes.start(
        (*_command(home, node, ports), f"--wsrep-cluster-address={cluster}", *options),
        _pid_file(home, node),
        _log(home, node),
        {"PATH": f"{_BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    try:
        readiness.wait_until(
            lambda: _is_synced(ports["sql"]),
            lambda: not record.alive(),
            f"node {node}",
            seconds=_PATIENCE,
        )
    except Failure as failure:
        raise Failure(str(failure), _log(home, node)) from failure


def _command(home: Path, node: int, ports: dict[str, int]) -> tuple[str, ...]:
    directory = _directory(home, node)
    group = ports["group"]
    provider = {
        "base_port": group,
        "gmcast.listen_addr": f"tcp://127.0.0.1:{group}",
        "ist.recv_addr": f"127.0.0.1:{ports['transfer']}",
        # Holds all transactions of a test run, so that a node can rejoin after any absence.
        "gcache.size": "512M",
        # Shorter than the defaults, because tests wait until a dead node is declared dead.
        "evs.suspect_timeout": "PT3S",
        "evs.inactive_timeout": "PT6S",
    }
    return (
        *mariadb.command(directory, ports["sql"]),
        "--binlog-format=ROW",
        "--innodb-autoinc-lock-mode=2",
        "--wsrep-on=ON",
        f"--wsrep-provider={_PROVIDER}",
        "--wsrep-cluster-name=warre",
        f"--wsrep-node-name=node{node}",
        f"--wsrep-node-address=127.0.0.1:{group}",
        "--wsrep-sst-method=ist",
        "--wsrep-provider-options=" + ";".join(f"{k}={v}" for k, v in provider.items()),
    )


def _position(home: Path, node: int) -> str:
    """Return the id of the last transaction in a node's data."""
    recover = ("--wsrep-cluster-address=gcomm://", "--wsrep-recover")
    words = (*_command(home, node, _ports(home)[node]), *recover)
    done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    match = _POSITION.search(done.stderr + done.stdout)
    if match is None:
        raise Failure(f"node {node} has no position to join from", _log(home, node))
    return match[1]


def _is_synced(port: int) -> bool:
    words = [
        str(apt.program("mariadb")),
        "--no-defaults",
        "--host=127.0.0.1",
        f"--port={port}",
        f"--user={mariadb.USER}",
        f"--password={mariadb.PASSWORD}",
        "--execute=SHOW STATUS LIKE 'wsrep_local_state_comment'",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    return "Synced" in done.stdout


def _write_ports(home: Path) -> None:
    """Choose the ports of all nodes. They stay the same when a node rejoins."""
    chosen = {str(n): {name: free_port() for name in ("sql", "group", "transfer")} for n in NODES}
    (home / "galera" / "ports.json").write_text(json.dumps(chosen))


def _ports(home: Path) -> dict[int, dict[str, int]]:
    """Return the ports of each node, by their purpose: sql, group, transfer."""
    text = (home / "galera" / "ports.json").read_text()
    return {int(node): ports for node, ports in json.loads(text).items()}


def _directory(home: Path, node: int) -> Path:
    return home / "galera" / f"node{node}"


def _pid_file(home: Path, node: int) -> Path:
    return home / "run" / f"galera{node}.pid"


def _log(home: Path, node: int) -> Path:
    return home / "log" / f"galera{node}.log"
