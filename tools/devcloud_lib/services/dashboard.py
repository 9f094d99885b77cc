"""Horizon with the pages of this package, in a virtual environment of its own."""

import shutil
from pathlib import Path

from devcloud_lib import readiness, shell, stamps, venv
from devcloud_lib.installer import Installer
from devcloud_lib.layout import PASSWORD, REGION, Layout
from devcloud_lib.service import Service
from devcloud_lib.settings import REPOSITORY

#: What the dashboard needs beside this repository with its extra ``dashboard``.
_PACKAGES = ("pyuwsgi",)
_PAGES = REPOSITORY / "warre_blazar" / "dashboard"
_SETTINGS = '''"""The settings of the dev cloud's Horizon."""

import os

DEBUG = False
SECRET_KEY = "only for a cloud on this machine"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
WEBROOT = "/"
STATIC_ROOT = {static!r}
# The style sheets are made when the dashboard is installed. Otherwise each page would make them.
COMPRESS_OFFLINE = True
OPENSTACK_KEYSTONE_URL = {auth_url!r}
OPENSTACK_KEYSTONE_DEFAULT_ROLE = "member"
AVAILABLE_REGIONS = [({auth_url!r}, {region!r})]
CACHES = {{"default": {{"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}}}
# The processes share no memory in which sessions could be.
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
OPENSTACK_NEUTRON_NETWORK = {{"enable_router": False, "enable_quotas": False}}
'''


def greeting(layout: Layout) -> str:
    """Return the address of the dashboard, and how to log in."""
    url = layout.url("dashboard", "/")
    return f"the dashboard: {url} (user alpha, beta or admin, password {PASSWORD})"


def services(layout: Layout) -> list[Service]:
    """Return the dashboard's service, if the settings of the cloud ask for it."""
    if not layout.settings.dashboard:
        return []
    home, python = layout.home / "dashboard", _venv(layout)
    command = (
        str(python / "bin" / "uwsgi"),
        f"--http-socket=127.0.0.1:{layout.ports.dashboard}",
        "--module=openstack_dashboard.wsgi:application",
        f"--virtualenv={python}",
        "--processes=2",
        "--threads=4",
        "--master",
        "--enable-threads",
        "--lazy-apps",
        "--need-app",
        "--die-on-term",
        "--no-orphans",
        "--buffer-size=65535",
        "--post-buffering=65535",
        "--add-header=Connection: close",
        f"--static-map=/static={home / 'static'}",
    )
    return [
        Service(
            name="dashboard",
            home=layout.home,
            command=command,
            ready=readiness.Http(layout.url("dashboard", "/auth/login/")),
            environment=_environment(layout),
            config=(home / "local" / "local_settings.py",),
            version=_version(),
        )
    ]


def install(layout: Layout) -> str:
    """Install Horizon, configure it, and make its static files. Return what to print."""
    home, local = layout.home / "dashboard", layout.home / "dashboard" / "local"
    local.mkdir(parents=True, exist_ok=True)
    settings = _SETTINGS.format(
        static=str(home / "static"), auth_url=layout.auth_url, region=REGION
    )
    (local / "local_settings.py").write_text(settings)
    (local / "__init__.py").touch()
    if layout.stamps.current("dashboard", _version()):
        return ""
    directory, log = _venv(layout), layout.log("dashboard-install")
    installer = Installer(layout.home / "uv", log)
    installer.make(directory)
    installer.install(directory, *_PACKAGES, "--editable", f"{REPOSITORY}[dashboard]")
    enable(directory)
    shutil.rmtree(home / "static", ignore_errors=True)
    django = [directory / "bin" / "python", "-m", "django"]
    for words in (["collectstatic", "--noinput", "-v0"], ["compress", "--force", "-v0"]):
        shell.run([*django, *words], log, _environment(layout))
    layout.stamps.set("dashboard", _version())
    return "installed"


def enable(directory: Path) -> None:
    """Link the files by which Horizon finds the pages to where Horizon looks for them."""
    (local,) = directory.glob("lib/python3*/site-packages/openstack_dashboard/local")
    for name in ("enabled", "local_settings.d"):
        # Files may have had other names before.
        for link in (local / name).glob("_[0-9]*.py"):
            if link.is_symlink():
                link.unlink()
        for path in sorted((_PAGES / name).glob("_[0-9]*.py")):
            (local / name / path.name).symlink_to(path)


def _venv(layout: Layout) -> Path:
    return layout.home / "venv-dashboard"


def _environment(layout: Layout) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "openstack_dashboard.settings",
        # Horizon imports ``local.local_settings``.
        "PYTHONPATH": str(layout.home / "dashboard"),
    }


def _version() -> str:
    """A hash that changes with what is installed and with the package's pages."""
    pages = sorted(path for path in _PAGES.rglob("*") if path.is_file() and path.suffix != ".pyc")
    packages = venv.packages_version(_PACKAGES, None)
    return stamps.digest(packages, _SETTINGS, venv.project_version(), *pages)
