"""The NumPy twin of every kernel: its specification, and what the compiled one is tested against."""

from .naive import (
    class_moments,
    count_cells,
    count_sparse,
    encode_integers,
    log_joint_cells,
    log_joint_gaussian,
    log_joint_sparse,
    normalise,
    posterior,
    posterior_cells,
    posterior_gaussian,
)

__all__ = [
    "class_moments",
    "count_cells",
    "count_sparse",
    "encode_integers",
    "log_joint_cells",
    "log_joint_gaussian",
    "log_joint_sparse",
    "normalise",
    "posterior",
    "posterior_cells",
    "posterior_gaussian",
]
