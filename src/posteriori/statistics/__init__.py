"""The mergeable values: what one pass over rows leaves behind, with `+`, `-` and a zero."""

from .counts import Counts
from .moments import CoMoments, Moments
from .span import Span

__all__ = ["CoMoments", "Counts", "Moments", "Span"]
