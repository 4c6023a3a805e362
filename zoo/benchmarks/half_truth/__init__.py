"""Half-truths: the benchmark and its rules."""
