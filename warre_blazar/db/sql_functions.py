"""SQL functions that are written differently for each database management system."""

import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from warre_blazar import times


class seconds_between(FunctionElement[int]):
    """The whole seconds from one DateTime to another."""

    name = "seconds_between"
    type = sa.BigInteger()
    inherit_cache = True


class utc_now(FunctionElement[datetime.datetime]):
    """The present time in UTC by the database's clock, which all managers share."""

    name = "utc_now"
    type = sa.DateTime()
    inherit_cache = True


@compiles(utc_now, "mysql")
@compiles(utc_now, "mariadb")
def _mysql_now(element: Any, compiler: Any, **options: Any) -> str:
    return "UTC_TIMESTAMP()"


@compiles(utc_now, "postgresql")
def _postgresql_now(element: Any, compiler: Any, **options: Any) -> str:
    return "DATE_TRUNC('second', CLOCK_TIMESTAMP() AT TIME ZONE 'UTC')"


@compiles(utc_now, "sqlite")
def _sqlite_now(element: Any, compiler: Any, **options: Any) -> str:
    # SQLAlchemy expects a DateTime with a fraction.
    return "STRFTIME('%Y-%m-%d %H:%M:%S.000000', 'now')"


class utc_now_exact(FunctionElement[datetime.datetime]):
    """The same as ``utc_now``, with microseconds (in SQLite with milliseconds)."""

    name = "utc_now_exact"
    type = sa.DateTime()
    inherit_cache = True


@compiles(utc_now_exact, "mysql")
@compiles(utc_now_exact, "mariadb")
def _mysql_exact(element: Any, compiler: Any, **options: Any) -> str:
    return "UTC_TIMESTAMP(6)"


@compiles(utc_now_exact, "postgresql")
def _postgresql_exact(element: Any, compiler: Any, **options: Any) -> str:
    return "CLOCK_TIMESTAMP() AT TIME ZONE 'UTC'"


@compiles(utc_now_exact, "sqlite")
def _sqlite_exact(element: Any, compiler: Any, **options: Any) -> str:
    return "STRFTIME('%Y-%m-%d %H:%M:%f', 'now')"


def hours_between(
    start: sa.ColumnElement[Any], end: sa.ColumnElement[Any]
) -> sa.ColumnElement[int]:
    """The hours from one DateTime to another, rounded up, as in ``Span.hours``."""
    hour = times.HOUR // times.SECOND
    return (seconds_between(start, end) + hour - 1) // hour


@compiles(seconds_between, "mysql")
@compiles(seconds_between, "mariadb")
def _mysql(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(c, **options) for c in element.clauses)
    return f"TIMESTAMPDIFF(SECOND, {start}, {end})"


@compiles(seconds_between, "postgresql")
def _postgresql(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(c, **options) for c in element.clauses)
    return f"CAST(EXTRACT(EPOCH FROM ({end} - {start})) AS BIGINT)"


@compiles(seconds_between, "sqlite")
def _sqlite(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(c, **options) for c in element.clauses)
    return f"(CAST(STRFTIME('%s', {end}) AS INTEGER) - CAST(STRFTIME('%s', {start}) AS INTEGER))"
