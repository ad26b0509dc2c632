"""Who depends on whom: graphs, and the questions one can ask of a graph without any number in it."""
