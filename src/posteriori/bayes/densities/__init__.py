"""P(x_j | y) for each role a column can play: a file for each sort of column, all with the face of `Density`."""

from .base import Density
from .categories import Categories
from .events import Events, Words
from .gaussian import Gaussian, Poisson
from .numeric import Binned, Curves, KernelDensity, LeftOut, Mixed

__all__ = [
    "Binned",
    "Categories",
    "Curves",
    "Density",
    "Events",
    "Gaussian",
    "KernelDensity",
    "LeftOut",
    "Mixed",
    "Poisson",
    "Words",
]
