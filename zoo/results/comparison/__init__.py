"""Comparison of several runs over the same queries, with paired intervals and tests."""
