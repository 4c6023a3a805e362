"""The one door to taggers, parsers, WordNet and inflection."""
