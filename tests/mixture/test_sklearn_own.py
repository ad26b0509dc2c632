"""scikit-learn's own tests of Gaussian mixtures and k-means, from its wheel, with the imports turned to ours."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
import sklearn

import posteriori

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
FIXTURES = """
import numpy as np
import pytest

@pytest.fixture(params=[42])
def global_random_seed(request):
    return request.param

@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    return request.param
"""


@pytest.mark.parametrize(
    ("path", "theirs", "ours", "left_out", "least"),
    [
        (
            "mixture/tests/test_gaussian_mixture.py",
            r"^from sklearn\.mixture import GaussianMixture$",
            "from posteriori import GaussianMixture",
            list(GAUSSIAN),
            65,
        ),
        (
            "cluster/tests/test_k_means.py",
            r"^from sklearn\.cluster import KMeans, MiniBatchKMeans, k_means, kmeans_plusplus$",
            "from posteriori import KMeans\nfrom sklearn.cluster import MiniBatchKMeans, k_means, kmeans_plusplus",
            list(KMEANS),
            180,
        ),
    ],
    ids=["gaussian", "kmeans"],
)
def test_scikit_learns_own_tests_pass(
    tmp_path: pathlib.Path, path: str, theirs: str, ours: str, left_out: list[str], least: int
) -> None:
    source = (pathlib.Path(sklearn.__file__).parent / path).read_text()
    turned, times = re.subn(theirs, ours, source, flags=re.M)
    assert times == 1
    (tmp_path / "test_copy.py").write_text(turned)
    (tmp_path / "conftest.py").write_text(FIXTURES)
    without = " and ".join(f"not {name}" for name in left_out if not name.endswith("["))
    deselect = [f"--deselect=test_copy.py::{name[:-1]}" for name in left_out if name.endswith("[")]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-k",
            without,
            *deselect,
            ".",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(posteriori.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= least, done.stdout[-500:]
