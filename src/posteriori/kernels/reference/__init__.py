"""The NumPy twin of every kernel: its specification, and what the compiled one is tested against."""
