"""The comparisons of an audit, as pure functions.

``facts`` has the values that an audit reads from this package's tables, Blazar's tables, Nova,
Placement and Keystone. ``differences`` has every kind of difference that can be found.

- ``cloud_side`` compares the reservations with Nova and Placement.
- ``trust_side`` compares the leases with Keystone.
- ``table_side`` compares the tables with each other.
- ``overselling`` checks by a count of its own that nothing is oversold.
"""
