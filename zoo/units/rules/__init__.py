"""Units by rule: groups tagged words into phrases and relations, and makes foils of both.

`rule` has the extractor; `phrases`, `clauses` and `foils` have one file per rule. `words` has the
word lists, `lexicon` and `kinds` look words up in them, and `filters` drops invalid foils.
"""
