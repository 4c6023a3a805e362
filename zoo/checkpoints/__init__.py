"""Checkpoints: read, written, exported and merged."""
