"""Zero-shot classification: labelled images, the prompts of their classes, and published sets."""
