"""`python -m zoo.cli`."""

import sys

from zoo.cli import main

sys.exit(main())
