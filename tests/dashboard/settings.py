"""Horizon's settings for the tests: the released ones, with the pages of this package enabled."""

import pathlib
import sys
import types

from openstack_dashboard.local import enabled

from warre_blazar.dashboard import enabled as ours

# In place of copying the files into Horizon's own directory.
enabled.__path__.extend(ours.__path__)
_local = types.ModuleType("local.local_settings")
_local.SECRET_KEY = "only for tests"
_local.ALLOWED_HOSTS = ["testserver", "127.0.0.1"]
# As on a real site, the scripts are a few files. As 372 files, they would take most of the time.
_local.COMPRESS_ENABLED = True
_local.COMPRESS_OFFLINE = False
_local.COMPRESS_FILTERS = {"css": [], "js": []}
# To compile the style sheets would take half a minute.
_local.COMPRESS_PRECOMPILERS = ()
_local.COMPRESSORS = {
    "css": "tests.dashboard.compressed.StyleSheets",
    "js": "tests.dashboard.compressed.Scripts",
}
_local.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
_local.OPENSTACK_KEYSTONE_URL = "http://127.0.0.1:1/v3"
_local.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
sys.modules["local"] = types.ModuleType("local")
sys.modules["local.local_settings"] = _local

from openstack_dashboard.settings import *  # noqa: E402, F403

_snippets = pathlib.Path(ours.__path__[0]).parent / "local_settings.d"
for _path in sorted(_snippets.glob("*.py")):
    # As Horizon does with the files in its own directory.
    exec(_path.read_text())
