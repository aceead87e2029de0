"""`python -m noclobber`."""

from __future__ import annotations

import sys

from noclobber.cli import main

if __name__ == "__main__":
    sys.exit(main())
