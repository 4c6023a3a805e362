"""The command that fetches the files of a benchmark."""

import shlex


def download_command(name: str, data_root: str = "DATA_ROOT") -> str:
    """Returns the command that fetches the files of a benchmark, in backticks.

    Args:
        name: The benchmark, or several separated by commas.
        data_root: The data root.
    """
    return f"`zoo data get {name} --data_root {shlex.quote(data_root)}`"
