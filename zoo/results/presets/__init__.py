"""Presets: what counts as right, and which metrics enter which mean, each a YAML file."""
