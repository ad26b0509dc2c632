"""A model as a query that scores a table where it lies.

`dialects` says how things are written, `scores` what ln P(y, x) is, `query` puts it together.
"""
