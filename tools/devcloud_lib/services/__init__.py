"""One module per OpenStack service: its configuration, its database, its processes.

Each has `configure(layout)`, `migrate(layout)` and `services(layout)`.
"""
