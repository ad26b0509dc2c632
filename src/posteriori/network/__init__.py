"""Bayesian networks: the object, its files, and the engines that answer questions."""
