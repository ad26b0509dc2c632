"""P(x_j | y) for each role a column can play: one density a file, all with the face of `Density`."""

from .base import Density, Seen
from .categories import Categories
from .curves import Curves
from .events import Events, Words
from .gaussian import Gaussian, Poisson
from .mixed import LeftOut, Mixed
from .numeric import Binned, KernelDensity

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
    "Seen",
    "Words",
]
