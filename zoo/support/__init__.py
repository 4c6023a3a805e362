"""Support: files, records of what was built, ranks, ranges and what the screen shows."""
