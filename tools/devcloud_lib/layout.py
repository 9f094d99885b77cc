"""The directories, ports, URLs and credentials of a cloud."""

import dataclasses
from pathlib import Path

from devcloud_lib import ini, mariadb, rabbitmq, venv
from devcloud_lib.ports import Ports
from devcloud_lib.settings import Settings
from devcloud_lib.stamps import Stamps

PASSWORD = "secret"
REGION = "RegionOne"


@dataclasses.dataclass(frozen=True)
class Layout:
    """The directories, ports and URLs of one cloud. It is all that a service module is given."""

    home: Path
    settings: Settings

    @property
    def ports(self) -> Ports:
        return Ports.moved(self.settings.port_offset)

    @property
    def stamps(self) -> Stamps:
        return Stamps(self.home / "stamps")

    @property
    def venv(self) -> Path:
        return self.home / "venv"

    def program(self, name: str) -> Path:
        """Return the path of a program of the virtual environment."""
        return self.venv / "bin" / name

    def etc(self, *names: str) -> Path:
        return self.home.joinpath("etc", *names)

    def state(self, *names: str) -> Path:
        return self.home.joinpath("state", *names)

    def log(self, name: str) -> Path:
        return self.home / "log" / f"{name}.log"

    def database(self, name: str, charset: str = "utf8mb4") -> str:
        return mariadb.url(self.ports.mariadb, name, charset)

    @property
    def rabbit(self) -> str:
        return rabbitmq.url(self.ports)

    def url(self, service: str, path: str = "") -> str:
        return f"http://127.0.0.1:{getattr(self.ports, service)}{path}"

    @property
    def auth_url(self) -> str:
        return self.url("keystone", "/v3")

    def login(self, user: str) -> dict[str, ini.Value]:
        """Return keystoneauth's options that log in as a service's user."""
        return {
            "auth_type": "password",
            "auth_url": self.auth_url,
            "username": user,
            "password": PASSWORD,
            "user_domain_id": "default",
            "project_domain_id": "default",
            "project_name": "service",
            "region_name": REGION,
        }

    def token_check(self, user: str) -> dict[str, ini.Value]:
        """Return keystonemiddleware's options for a service with this user."""
        return {
            "www_authenticate_uri": self.auth_url,
            "service_token_roles": "admin",
            "service_token_roles_required": False,
            **self.login(user),
        }

    @property
    def version(self) -> str:
        """A hash that changes with OpenStack's packages, so that services are restarted then."""
        chosen = self.settings.packages
        return venv.packages_version(venv.cloud_packages(chosen), chosen.constraints)
