"""N → θ: how counts become probabilities."""

from .dirichlet import log_dirichlet, log_prior, log_unseen
from .hierarchical import log_backoff, log_dirichlet_table

__all__ = ["log_backoff", "log_dirichlet", "log_dirichlet_table", "log_prior", "log_unseen"]
