"""Units: parts of captions and their minimally edited foils."""
