"""Decides for each row of a Warre database whether and how the row is imported.

``rows`` reads the values of a row. ``flavors`` and ``reservations`` decide. Both decide only from
what their callers pass to them. Times are naive datetimes in UTC.
"""
