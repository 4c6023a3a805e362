"""Units by rule: tagged words become phrases, phrases clauses, and both get their foils.

`rule` has the extractor; `phrases`, `clauses` and `foils` have a file for each rule. `words` has
the lists, `lexicon` and `kinds` look words up in them, and `filters` drops what is no foil.
"""
