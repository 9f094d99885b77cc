"""The tools' own modules can be imported: they aren't installed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))
