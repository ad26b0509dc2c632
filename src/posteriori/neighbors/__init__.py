"""The k nearest rows: a kd-tree and brute force under one rule, and the models that vote with them."""
