"""Support: files, configuration, distributed training, caches and progress."""
