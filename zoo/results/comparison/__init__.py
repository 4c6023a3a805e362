"""Comparison: several runs over the same questions, with paired intervals and tests."""
