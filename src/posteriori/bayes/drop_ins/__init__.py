"""Naive Bayes with the face of scikit-learn's: its parameters, its fitted attributes, its contract for `partial_fit`."""
