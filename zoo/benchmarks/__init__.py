"""Benchmarks: what their published files hold and what their cases are. No scoring here."""
