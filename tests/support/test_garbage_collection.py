"""When the garbage collector is off, and which objects it never visits."""

import gc
import subprocess
import sys

from zoo.support.garbage_collection import collector_off

ONCE = """
import gc
from zoo.support.garbage_collection import imports_frozen

def visited(thing):
    return any(found is thing for found in gc.get_objects())

with imports_frozen():
    assert not gc.isenabled()
    first = []
assert gc.isenabled() and not visited(first)
with imports_frozen():
    later = []
assert gc.isenabled() and visited(later)
"""


def test_the_collector_is_off_in_the_block_and_on_after_it() -> None:
    assert gc.isenabled()
    with collector_off():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_objects_are_exempt_from_collection_once_per_process() -> None:
    subprocess.run([sys.executable, "-c", ONCE], check=True)
