"""One engine that measures: encode once, score, judge, average, report."""
