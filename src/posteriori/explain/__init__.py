"""Why, and what would have to be different: one answer taken apart, attribute by attribute."""
