"""No migration changes any more once it is listed here."""

import hashlib
import pathlib

from warre_blazar.db import migrations

VERSIONS = pathlib.Path(migrations.__file__).parent / "versions"
#: The SHA-256 of each file. Add the files of a new migration, and change no line that is here:
#: databases have run these statements, and don't run them again.
FROZEN = {
    "0001_tables.py": "8814494b564f3ddd08484eaa8ae58af7180c6cf43894d20c57d37ae8a7058a21",
    "0001_tables.sql": "0f94df0d04050a3c9332b434b7119d6fa493afcece1d6454dcbc31c025fe056e",
    "0002_marks.py": "1034895a2ecf401228556db7c1f81c2bd85c9344c309c7b6e64f7584bc43bb68",
}


def test_migrations_are_those_that_were_listed():
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VERSIONS.iterdir()
        if path.is_file() and path.name != "__init__.py"
    }
    assert found == FROZEN
