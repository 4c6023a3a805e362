"""Support: files, configurable objects, ranks, ranges, caches and progress."""
