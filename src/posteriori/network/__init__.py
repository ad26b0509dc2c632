"""Bayesian networks: the value and its files, what can be asked of it by name, and the engines that know only numbers."""
