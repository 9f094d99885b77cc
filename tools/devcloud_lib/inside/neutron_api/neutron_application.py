"""Neutron's WSGI application, with SQLAlchemy's mappers configured.

Neutron 29 reads the attribute Port.port_forwardings. It is a backref, which SQLAlchemy 2.1 makes
only when the mappers are configured. So they are configured here, after all imports.
"""

from neutron.db.models import port_forwarding  # noqa: F401
from neutron.wsgi.api import application  # noqa: F401
from sqlalchemy.orm import configure_mappers

configure_mappers()
