"""Units by rule: phrases, clauses, word lists and the foils that they give."""
