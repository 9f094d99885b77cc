"""Another name of Blazar's WSGI application, ``blazar.wsgi.api:application``.

With ``flavor.slot.plugin`` in ``[manager] plugins``, Blazar's application serves this package's API
too. Former releases of this package had to be served by this module. It stops if this package's API
isn't in the application, so that nobody serves Blazar without the checks by mistake.
"""

from blazar.wsgi import api

from warre_blazar.wsgi import checked_application

application = checked_application.require(api.application)
