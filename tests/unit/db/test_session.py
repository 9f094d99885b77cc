"""What the errors of databases mean, as oslo.db of each supported release raises them."""

import pymysql
import pytest
from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

from warre_blazar.db import session


def of_mariadb(number: int, text: str) -> sa_exc.OperationalError:
    return sa_exc.OperationalError("UPDATE", {}, pymysql.err.OperationalError(number, text))


CHANGED = of_mariadb(1020, "Record has changed since last read in table 'warre_flavors'")
LOST = {
    "a deadlock": db_exc.DBDeadlock(),
    "a changed row, before oslo.db 18.1.1": db_exc.DBError(CHANGED),
    "a changed row that oslo.db hasn't seen": CHANGED,
}
OTHERS = {
    "no connection": db_exc.DBConnectionError(of_mariadb(2013, "Lost connection")),
    "a value": db_exc.DBError(of_mariadb(1366, "Incorrect string value")),
    "nothing": db_exc.DBError(),
    "another kind of error with that number": ValueError(1020),
}


@pytest.mark.parametrize("case", LOST)
def test_lost_race_is_recognized(case: str):
    assert session.is_lost_race(LOST[case])


@pytest.mark.parametrize("case", OTHERS)
def test_other_error_is_no_lost_race(case: str):
    assert not session.is_lost_race(OTHERS[case])
