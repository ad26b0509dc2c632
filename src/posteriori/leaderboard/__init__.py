"""`po.compare`: the whole spectrum and what users would pick instead, on the same folds, by the same scores."""
