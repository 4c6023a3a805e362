"""Checkpoints: reads, writes and merges them."""
