"""scikit-learn's own tests of Gaussian mixtures and k-means, from its wheel, with the imports turned to ours."""

from __future__ import annotations

from typing import Any

import pytest

PRIVATE = "calls a private helper of scikit-learn's class"
BATCHES = "their MiniBatchKMeans is not replaced: batches are a parameter here"
# words of names (a function's whole name ends in "[") -> why these tests are left out
GAUSSIAN = {
    "array_api": "array-API input (torch, cupy) is not read by compiled kernels",
    "test_gaussian_mixture_precisions_init[": PRIVATE,
    "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters": "counts calls of a private helper",
}
KMEANS = {
    "MiniBatch": BATCHES,
    "minibatch": BATCHES,
    "test_sample_weight_init": PRIVATE,
    "test_sample_weight_zero": PRIVATE,
}


@pytest.mark.parametrize(
    ("path", "theirs", "ours", "left_out", "least"),
    [
        (
            "mixture/tests/test_gaussian_mixture.py",
            r"^from sklearn\.mixture import GaussianMixture$",
            "from posteriori import GaussianMixture",
            GAUSSIAN,
            65,
        ),
        (
            "cluster/tests/test_k_means.py",
            r"^from sklearn\.cluster import KMeans, MiniBatchKMeans, k_means, kmeans_plusplus$",
            "from posteriori import KMeans\nfrom sklearn.cluster import MiniBatchKMeans, k_means, kmeans_plusplus",
            KMEANS,
            180,
        ),
    ],
    ids=["gaussian", "kmeans"],
)
def test_scikit_learns_own_tests_pass(
    run_scikit_learns_own: Any, path: str, theirs: str, ours: str, left_out: dict[str, str], least: int
) -> None:
    passed, said = run_scikit_learns_own(path, {theirs: ours}, left_out)
    assert passed >= least, said
