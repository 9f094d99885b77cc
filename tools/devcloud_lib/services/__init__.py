"""The OpenStack services. Each has a module for its configuration, database and processes.

Each module has `configure(layout)`, `migrate(layout)` and `services(layout)`.
"""
