"""The pages that `zoo report` writes: metrics, charts and cases of runs."""
