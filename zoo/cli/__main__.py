"""Runs `python -m zoo.cli` with the same import path as the command `zoo`."""

import os
import sys

if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]  # import nothing from the working folder unless the user names it

from zoo.cli import main

sys.exit(main())
