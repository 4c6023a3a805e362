"""Writes an exported tower of the world in half precision, as it comes with the package.

    zoo export last tower
    python benchmarks/studies/package_tower.py tower

The file is `zoo/backbones/architectures/zoo-world.scenes.safetensors`. Its SHA-256, which is
printed, belongs into the model's entry, `zoo/backbones/catalogue/entries/scenes.yaml`.
"""

import argparse
import hashlib
from pathlib import Path

from safetensors.torch import load_file, save_file

from zoo.backbones.factory import SHIPPED


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("export", type=Path, help="a folder that `zoo export` wrote")
    parser.add_argument(
        "--out",
        type=Path,
        default=SHIPPED / "zoo-world.scenes.safetensors",
        help="the file to write (default: %(default)s)",
    )
    arguments = parser.parse_args()
    weights = load_file(arguments.export / "open_clip_model.safetensors")
    save_file({name: tensor.half() for name, tensor in weights.items()}, arguments.out)
    content = arguments.out.read_bytes()
    print(f"{arguments.out}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
