"""P(x_j | y) for each role a column can play: one density a file, all with the face of `Density`."""

from .base import Density, Seen
from .cells import Cells
from .events import Events, Words
from .gaussian import Gaussian
from .histogram import Binned, Kernel
from .poisson import Poisson

__all__ = ["Binned", "Cells", "Density", "Events", "Gaussian", "Kernel", "Poisson", "Seen", "Words"]
