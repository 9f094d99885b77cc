"""Neutron's WSGI application, with SQLAlchemy's mappers configured.

Neutron 29 reads the attribute Port.port_forwardings, a backref, before SQLAlchemy 2.1 has made it,
unless the mappers are configured once everything is imported.
"""

from neutron.db.models import port_forwarding  # noqa: F401
from neutron.wsgi.api import application  # noqa: F401
from sqlalchemy.orm import configure_mappers

configure_mappers()
