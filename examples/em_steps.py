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
INKS = np.array([[200, 60, 40], [40, 120, 60], [50, 80, 190]])
SIDE, GAP = 210, 14


def after(turns: int) -> po.GaussianMixture:
    """The mixture after so many turns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped on purpose
        return po.GaussianMixture(3, **START, tol=0, reg_covar=0, max_iter=turns).fit(MELONS)


def at(point: np.ndarray, left: float) -> tuple[float, float]:
    """Where a melon stands in a panel."""
    x, y = (point - [0.15, -0.05]) / [0.7, 0.65]
    return left + SIDE * x, 20 + SIDE * (1 - y)


def panel(model: po.GaussianMixture, turns: int, left: float) -> str:
    """Melons in the mixed colour of their responsibilities, each normal as the ellipse of one standard deviation."""
    parts = [f'<rect x="{left}" y="20" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888" stroke-width="0.6"/>']
    parts.append(f'<text x="{left + 4}" y="14">after {turns} turn{"s" * (turns > 1)}</text>')
    for mean, cov, ink in zip(model.means_, model.covariances_, INKS):
        around = np.linspace(0, 2 * np.pi, 61)
        ring = mean + np.stack([np.cos(around), np.sin(around)], axis=1) @ np.linalg.cholesky(cov).T
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(p, left) for p in ring))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="rgb({ink[0]},{ink[1]},{ink[2]})" stroke-width="1.6"/>'
        )
    for melon, share in zip(MELONS, model.predict_proba(MELONS)):
        (x, y), (r, g, b) = at(melon, left), (share @ INKS).round().astype(int)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="rgb({r},{g},{b})"/>')
    return "".join(parts)


def figure() -> str:
    """All panels side by side."""
    wide = len(TURNS) * (SIDE + GAP)
    panels = "".join(panel(after(t), t, 4 + k * (SIDE + GAP)) for k, t in enumerate(TURNS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="EM on 30 melons, after {TURNS} turns" '
        f'width="{wide}" height="{SIDE + 28}" font-family="system-ui,sans-serif" font-size="12">{panels}</svg>\n'
    )


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].endswith(".svg"):
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(figure())
    for turns in TURNS:
        model = after(turns)
        print(
            f"after {turns:2} turns: ln P = {30 * model.score(MELONS):6.3f}, shares {model.weights_.round(3).tolist()}"
        )
