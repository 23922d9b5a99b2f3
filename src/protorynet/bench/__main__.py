"""`python -m protorynet.bench`: measure everything, then write the pages."""

from __future__ import annotations

import sys

from protorynet.bench.command import main

if __name__ == "__main__":
    sys.exit(main())
