"""N → θ: how counts become probabilities."""

from .dirichlet import log_dirichlet, log_prior, log_unseen

__all__ = ["log_dirichlet", "log_prior", "log_unseen"]
