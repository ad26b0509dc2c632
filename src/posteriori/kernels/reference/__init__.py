"""The NumPy twin of every kernel: its specification, and what the compiled one is tested against."""

from .families import best_network, g_tests, toggle_scores
from .naive import (
    class_moments,
    column_sums,
    count_cells,
    count_families,
    count_sparse,
    encode_integers,
    log_counts,
    log_joint_cells,
    log_joint_gaussian,
    log_joint_sparse,
    log_kernel_sums,
    normalise,
    posterior,
    posterior_cells,
    posterior_gaussian,
    score_sparse,
)
from .pairs import count_pairs, ladder_losses, leave_one_out, pair_tables, sum_of_products

__all__ = [
    "best_network",
    "class_moments",
    "column_sums",
    "count_cells",
    "count_families",
    "count_pairs",
    "count_sparse",
    "encode_integers",
    "g_tests",
    "ladder_losses",
    "leave_one_out",
    "log_counts",
    "log_joint_cells",
    "log_joint_gaussian",
    "log_joint_sparse",
    "log_kernel_sums",
    "normalise",
    "pair_tables",
    "posterior",
    "posterior_cells",
    "posterior_gaussian",
    "score_sparse",
    "sum_of_products",
    "toggle_scores",
]
