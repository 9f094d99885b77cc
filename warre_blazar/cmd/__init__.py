"""The programs that operators run on the machines of the manager and the API."""

import importlib
import sys
import warnings

from warre_blazar import compat

try:
    compat.check()
except ImportError as error:
    # The programs are also there on machines that have only the commands for users.
    sys.exit(str(error))

# Libraries that Blazar uses import Eventlet if it is installed. It then prints eight lines about
# its deprecation, with which an operator can do nothing.
warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")

# Blazar chooses the backend of oslo.service when it is imported. If another library chooses one
# first, that is Eventlet, and Blazar warns of it.
importlib.import_module("blazar")
