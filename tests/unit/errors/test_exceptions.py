"""The texts of errors that depend on what another service said."""

import pytest
import sqlalchemy as sa

from warre_blazar.errors import exceptions


@pytest.mark.parametrize(
    "text",
    [
        "(1146, \"Table 'blazar.warre_flavors' doesn't exist\")",
        'relation "warre_flavors" does not exist',
        "no such table: warre_flavors",
    ],
)
def test_tables_that_are_missing_are_said_to_be(text: str):
    error = exceptions.DatabaseUnavailable(sa.exc.ProgrammingError("SELECT", {}, Exception(text)))
    assert "tables are missing: the operator runs warre-blazar-manage setup" in error.message


def test_other_errors_of_the_database_are_named():
    error = exceptions.DatabaseUnavailable(ConnectionResetError("Table 'nova.x' doesn't exist"))
    assert error.message.startswith("The database is not available (ConnectionResetError)")
