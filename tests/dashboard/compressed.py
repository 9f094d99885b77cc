"""How Horizon's style sheets and scripts are put together for the tests."""

import hashlib
from typing import Any

from compressor.base import Compressor
from compressor.css import CssCompressor
from compressor.js import JsCompressor


class _OfUnchangingFiles(Compressor):
    """Is asked for once for each list of files, because no test changes one of them."""

    @property
    def cachekey(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()


class StyleSheets(_OfUnchangingFiles, CssCompressor):
    """Leaves the links to style sheets as they are."""

    def output(self, *_: Any, **__: Any) -> str:
        return str(self.content)


class Scripts(_OfUnchangingFiles, JsCompressor):
    """Puts scripts into one file, as on a real site."""
