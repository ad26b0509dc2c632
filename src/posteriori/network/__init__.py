"""Bayesian networks: a graph, a table for each node, and what can be inferred from them."""
