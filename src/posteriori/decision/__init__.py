"""Posterior × loss → the action of least conditional risk. Arrays in, actions out; it knows no model."""
