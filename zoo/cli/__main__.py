"""`python -m zoo.cli`, with the import path that the command `zoo` has."""

import os
import sys

if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]  # nothing of the working folder is imported unless the user names it

from zoo.cli import main

sys.exit(main())
