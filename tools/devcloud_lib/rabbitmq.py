"""A private RabbitMQ node, with a name, ports and a port mapper (epmd) of its own."""

from pathlib import Path

from devcloud_lib import apt
from devcloud_lib.console import Failure
from devcloud_lib.ports import Ports

PACKAGE = "rabbitmq-server"
_SCRIPTS = (Path("/usr/lib/rabbitmq/bin"), Path("/usr/local/lib/rabbitmq/bin"))


def missing_packages() -> list[str]:
    """Return the Debian packages that have to be installed."""
    return [] if _server() and apt.find("epmd") else [PACKAGE]


def create(directory: Path, ports: Ports) -> None:
    """Write the node's configuration."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{ports.rabbitmq}\n"
        "log.console = true\n"
        "log.console.level = info\n"
        "log.file = false\n"
    )
    (directory / "enabled_plugins").write_text("[].\n")
    # Without this file, the node would read that of the system's node.
    (directory / "rabbitmq-env.conf").write_text("")


def epmd_command(ports: Ports) -> tuple[str, ...]:
    """Return the command line of Erlang's port mapper. A node would start it as a daemon."""
    return (str(apt.program("epmd")), "-address", "127.0.0.1", "-port", str(ports.epmd))


def command() -> tuple[str, ...]:
    """Return the command line of the node. The wrapper in PATH would switch to another user."""
    server = _server()
    if server is None:
        raise Failure("rabbitmq-server is not installed")
    return (str(server),)


def environment(directory: Path, ports: Ports) -> dict[str, str]:
    """Return the environment variables of a node whose files are in the directory."""
    return {
        "HOME": str(directory),
        "ERL_EPMD_PORT": str(ports.epmd),
        "RABBITMQ_NODENAME": f"warre_dev_{ports.rabbitmq}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(ports.rabbitmq),
        "RABBITMQ_DIST_PORT": str(ports.rabbitmq_distribution),
        "RABBITMQ_CONF_ENV_FILE": str(directory / "rabbitmq-env.conf"),
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(directory / "generated"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }


def url(ports: Ports) -> str:
    """Return oslo.messaging's transport URL."""
    return f"rabbit://guest:guest@127.0.0.1:{ports.rabbitmq}/"


def _server() -> Path | None:
    scripts = [path / "rabbitmq-server" for path in _SCRIPTS]
    return next((script for script in scripts if script.exists()), None)
