"""The extension of Blazar's v1 API by which a process that serves Blazar's API serves ours too.

Blazar calls ``load`` while it makes its application for v1, if ``[manager] plugins`` names
``flavor.slot.plugin``. So it doesn't matter which module a web server serves.

stevedore skips an extension whose import fails. Blazar would then serve its own API without this
package's checks, and nobody would notice. So this module imports nothing, and all that can fail is
done in the call. Its exceptions stop the process.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import flask


def load() -> "flask.Blueprint":
    """The blueprint that Blazar adds to its application for v1. It has no paths.

    :raises NotInstalled: the extra ``server`` isn't installed.
    :raises Unsupported: an installed package is too old, or Blazar can't use the web server's
        threads.
    :raises Misconfigured: an option that flavors depend on is malformed.
    :raises MigrationError: the tables are those of another release.
    """
    from warre_blazar import compat  # noqa: PLC0415

    compat.check()
    from warre_blazar.wsgi import checked_application  # noqa: PLC0415

    return checked_application.blueprint()
