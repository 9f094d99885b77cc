"""nova-compute that finds our virt driver: Nova looks for drivers inside nova.virt only."""

import sys
from pathlib import Path

from nova.cmd import compute  # first of all of Nova: it decides how threads are made

from nova import virt  # isort: skip

if __name__ == "__main__":
    virt.__path__.append(str(Path(__file__).resolve().parent))
    sys.exit(compute.main())
