"""The spectrum as scikit-learn estimators: what each counts, and log P(y, x) from it; learning and answers are shared."""
