"""What to say of a configuration or a database that can't be used."""

from oslo_config import cfg
from oslo_db import exception as db_exc

from warre_blazar.db import session

#: What reading the configuration raises; a file may be a directory, or no text.
CONFIGURATION = (cfg.Error, OSError, UnicodeDecodeError)
#: What the database raises, its URL and the lack of one or of its driver included.
DATABASE = (*session.FAILURES, db_exc.CantStartEngineError, ImportError)


def configuration(error: Exception) -> str:
    """Why the configuration can't be read, in one line, and what to do."""
    what = "name Blazar's with --config-file, before the command"
    if isinstance(error, cfg.ConfigFileParseError | cfg.ConfigFileValueError | UnicodeDecodeError):
        what = "correct it"
    return f"The configuration can't be read: {_line(error)}; {what}"


def database(error: Exception) -> str:
    """Why the database can't be read, in one line, and what to do."""
    if isinstance(error, db_exc.CantStartEngineError):
        return "[database] connection is not set; name Blazar's configuration with --config-file"
    if isinstance(error, db_exc.DBError) or getattr(error, "orig", None):
        return f"The database can't be read: {_line(getattr(error, 'orig', None) or error)}"
    return f"[database] connection can't be used: {_line(error)}"


def _line(error: object) -> str:
    """Without the statement and the advice of SQLAlchemy, which are lines of their own."""
    return str(error).strip().partition("\n")[0].rstrip(" .")
