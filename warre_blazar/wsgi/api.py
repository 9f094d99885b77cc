"""What a WSGI server serves: ``warre_blazar.wsgi.api:application``.

It is configured as Blazar's own, by ``blazar.conf`` in the directory that ``OS_BLAZAR_CONFIG_DIR``
names.
"""

from blazar.api import wsgi_app

from warre_blazar.wsgi import building

application = building.build(wsgi_app.init_app())
