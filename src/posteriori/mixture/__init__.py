"""Mixtures: Gaussian mixtures, k-means as their limit, hidden classes, and mixtures as the densities of classes."""
