"""Readers of caption sources, one file a format."""
