"""The folder of pages that `zoo report` writes: what runs found, drawn, with their cases."""
