"""The mergeable values: what one pass over rows leaves behind, with `+`, `-` and a zero."""
