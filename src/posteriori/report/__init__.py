"""Faces of a result: drawings and pages. Thin, no arithmetic of probability."""
