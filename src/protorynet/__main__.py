"""`python -m protorynet` is the command `protorynet`."""

import sys

from protorynet.cli import main

sys.exit(main())
