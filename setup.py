"""Ships the recipes of configs/ inside the wheel, as zoo/configs; everything else is in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["zoo*"]), "zoo.configs"],
    package_dir={"zoo.configs": "configs"},
    package_data={
        "zoo": ["architectures/*.json", "py.typed", "**/*.pyi"],
        "zoo.configs": ["*.yaml"],
    },
)
