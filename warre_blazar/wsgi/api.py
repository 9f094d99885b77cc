"""The WSGI application that a server such as uWSGI serves: ``warre_blazar.wsgi.api:application``.

Like Blazar's own application, it reads the file ``blazar.conf``. The environment variable
``OS_BLAZAR_CONFIG_DIR`` contains the path of the file's directory.
"""

from blazar.api import wsgi_app

from warre_blazar.wsgi import checked_application

application = checked_application.build(wsgi_app.init_app())
