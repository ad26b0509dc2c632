"""One turn of EM for a Gaussian mixture. The twins in `reference.mixture` say what each function computes."""

from __future__ import annotations

from .reference.mixture import mixture_log_joint, mixture_sums

__all__ = ["mixture_log_joint", "mixture_sums"]
