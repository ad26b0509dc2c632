"""The steps of EM, drawn: three normals find their melons. `python examples/em_steps.py figure.svg` writes the figure."""

from __future__ import annotations

import sys
import warnings

import numpy as np

import posteriori as po

# density and sugar of 30 melons
MELONS = np.array(
    [
        [0.697, 0.460], [0.774, 0.376], [0.634, 0.264], [0.608, 0.318], [0.556, 0.215], [0.403, 0.237],
        [0.481, 0.149], [0.437, 0.211], [0.666, 0.091], [0.243, 0.267], [0.245, 0.057], [0.343, 0.099],
        [0.639, 0.161], [0.657, 0.198], [0.360, 0.370], [0.593, 0.042], [0.719, 0.103], [0.359, 0.188],
        [0.339, 0.241], [0.282, 0.257], [0.748, 0.232], [0.714, 0.346], [0.483, 0.312], [0.478, 0.437],
        [0.525, 0.369], [0.751, 0.489], [0.532, 0.472], [0.473, 0.376], [0.725, 0.445], [0.446, 0.459],
    ]
)  # fmt: skip
START = {"weights_init": [1 / 3] * 3, "means_init": MELONS[[5, 21, 26]], "precisions_init": [10 * np.eye(2)] * 3}
TURNS = (1, 5, 15, 50)


def start(**parameters: object) -> po.GaussianMixture:
    """Three normals around three of the melons, as round as each other."""
    return po.GaussianMixture(3, **START, tol=0, reg_covar=0, **parameters)


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].endswith(".svg"):
        start().plot_steps(MELONS, TURNS).save(sys.argv[1])
    for turns in TURNS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is stopped on purpose
            model = start(max_iter=turns).fit(MELONS)
        print(
            f"after {turns:2} turns: ln P = {30 * model.score(MELONS):6.3f}, shares {model.weights_.round(3).tolist()}"
        )
