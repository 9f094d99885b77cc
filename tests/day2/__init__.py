"""A campaign of what users and operators do in Nova every day, beside bookings.

After each operation, every place of every reservation that runs must boot a server.
"""
