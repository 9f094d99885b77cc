"""Runs nova-compute with our virt driver, which it makes visible inside nova.virt.

Nova looks for drivers only there.
"""

import sys
from pathlib import Path

from nova.cmd import (
    compute,
)  # must be imported before the rest of Nova: it sets how threads are made

from nova import virt  # isort: skip

if __name__ == "__main__":
    virt.__path__.append(str(Path(__file__).resolve().parent))
    sys.exit(compute.main())
