"""Error messages of ``warre-blazar-manage``, above all about its configuration and database."""

import sys

from oslo_config import cfg
from oslo_db import exception as db_exc

from warre_blazar.db import session
from warre_blazar.errors import exceptions

#: The exceptions that can be raised while the configuration is read. For instance, a given path may
#: be a directory, or a file that isn't text.
CONFIGURATION = (cfg.Error, OSError, UnicodeDecodeError)
#: The exceptions that can be raised while the database is used. They include the errors for a URL
#: that is missing or malformed, and for a driver that isn't installed.
DATABASE = (*session.FAILURES, db_exc.CantStartEngineError, ImportError)


def fail(status: int, message: str) -> int:
    """Print an error of ``warre-blazar-manage``, and return its exit status."""
    print(f"warre-blazar-manage: {message}", file=sys.stderr)
    return status


def configuration(error: Exception) -> str:
    """Return one line that says why the configuration can't be read, and what to do."""
    advice = "name Blazar's configuration file with --config-file, before the command"
    if isinstance(error, cfg.ConfigFileParseError | cfg.ConfigFileValueError | UnicodeDecodeError):
        advice = "correct it"
    return f"The configuration can't be read: {_first_line(error)}; {advice}"


def database(error: Exception) -> str:
    """Return one line that says why Blazar's database can't be read."""
    if isinstance(error, db_exc.CantStartEngineError):
        return (
            "[database] connection is not set; name Blazar's configuration file with --config-file"
        )
    if isinstance(error, db_exc.DBError) or getattr(error, "orig", None):
        why = _first_line(getattr(error, "orig", None) or error)
        advice = "; run warre-blazar-manage setup" if exceptions.tables_are_missing(why) else ""
        return f"Blazar's database can't be read: {why}{advice}"
    return f"[database] connection can't be used: {_first_line(error)}"


def _first_line(error: object) -> str:
    """Return an error's first line. SQLAlchemy adds further lines with SQL and advice."""
    return str(error).strip().partition("\n")[0].rstrip(" .")
