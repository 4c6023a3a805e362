"""Checkpoints: read, written and merged."""
