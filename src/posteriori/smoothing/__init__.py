"""N → θ: how counts become probabilities, and how a rare context leans on a simpler one; `theta` is the home of both."""

from .theta import MOST_SMOOTHING, backoff, log_backoff, log_prior, log_share, log_theta, log_unseen, share, theta

__all__ = [
    "MOST_SMOOTHING",
    "backoff",
    "log_backoff",
    "log_prior",
    "log_share",
    "log_theta",
    "log_unseen",
    "share",
    "theta",
]
