"""Who depends on whom, and what the counts say about it."""

from .graph import Structure
from .information import class_information, conditional_information
from .kdb import by_information, kdb
from .naive import naive
from .superparent import aode, spode
from .tree import spanning_edges, tree

__all__ = [
    "Structure",
    "aode",
    "by_information",
    "class_information",
    "conditional_information",
    "kdb",
    "naive",
    "spanning_edges",
    "spode",
    "tree",
]
