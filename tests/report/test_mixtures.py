"""Drawings of mixtures: well-formed, the ellipses where the densities are, colours as the responsibilities."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from defusedxml import ElementTree
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.errors import BadParameter, ModelError
from posteriori.report.mixtures import COLOURS, blended, ellipse, steps_drawing, trace_drawing

SVG = "{http://www.w3.org/2000/svg}"
KINDS = ("full", "tied", "diag", "spherical")


def rows(d: int = 3) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(size=(60, d)), rng.normal(size=(60, d)) + 6])


@pytest.mark.parametrize("kind", KINDS)
def test_points_and_ellipses(kind: str) -> None:
    X = rows()
    X[3, 0] = np.nan
    model = po.GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    root = ElementTree.fromstring(str(model.plot(X, columns=(0, 2))))
    assert len(list(root.iter(f"{SVG}circle"))) == 119 + 2  # a row without the column is not drawn
    assert len(list(root.iter(f"{SVG}polyline"))) == 4
    assert "component 0: weight 0.5" in "".join(t.text for t in root.iter(f"{SVG}title"))
    html = model._repr_html_()
    assert "2 components" in html
    assert "<svg" in html
    assert "estimator" in po.GaussianMixture()._repr_html_()


def test_one_column_is_drawn_as_a_density() -> None:
    model = po.GaussianMixture(2, random_state=0).fit(rows(1))
    root = ElementTree.fromstring(str(model.plot(rows(1))))
    assert len(list(root.iter(f"{SVG}polyline"))) == 120 + 3


def test_an_ellipse_lies_at_its_distance() -> None:
    A = np.random.default_rng(1).normal(size=(2, 2))
    sigma, mean = A @ A.T, np.array([3.0, -1.0])
    gap = np.column_stack(ellipse(mean, sigma, 2.0)) - mean
    assert_allclose(np.einsum("ni,ij,nj->n", gap, np.linalg.inv(sigma), gap), 4.0)


def test_colours_are_mixed_by_responsibility() -> None:
    assert blended(np.eye(3)) == list(COLOURS[:3])
    assert len(blended(np.full((5, 20), 0.05))) == 5


def test_the_trace_and_its_marks() -> None:
    root = ElementTree.fromstring(str(trace_drawing([-3.0, -2.0, -2.5], [(3, "fell <b>"), (9, "beyond")])))
    assert [t.text for t in root.iter(f"{SVG}title")] == ["turn 3: fell <b>"]
    ends = [t.text for t in root.iter(f"{SVG}text")][:2]
    assert ends == ["1", "3"]  # turns begin with the first
    assert "1 turn<" in str(trace_drawing([-3.0]))
    with pytest.raises(ModelError, match="no trace"):
        trace_drawing([])


def test_steps_side_by_side() -> None:
    X = rows(2)
    drawing = steps_drawing(po.GaussianMixture(2, init_params="random", random_state=0), X, (0, 1, 5))
    text = "".join(t.text or "" for t in ElementTree.fromstring(str(drawing)).iter(f"{SVG}text"))
    assert "start" in text
    assert "after 1 turn" in text
    assert "after 5 turns" in text
    with pytest.raises(BadParameter, match="at least one"):
        steps_drawing(po.GaussianMixture(2), X, ())


def test_many_points_constant_columns_and_bad_columns() -> None:
    X = np.zeros((5000, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = po.GaussianMixture(1).fit(X)
        clusters = po.KMeans(2, random_state=0).fit(rows())
    ElementTree.fromstring(str(model.plot(X)))
    with pytest.raises(BadParameter, match="two of the 2 columns"):
        model.plot(X, columns=(0, 5))
    root = ElementTree.fromstring(str(clusters.plot(rows())))
    assert len(list(root.iter(f"{SVG}circle"))) == 122
    ElementTree.fromstring(str(po.KMeans(2, random_state=0).fit(rows(1)).plot(rows(1))))


def test_the_wider_ellipse_is_dashed() -> None:
    X = rows()
    root = ElementTree.fromstring(str(po.GaussianMixture(2, random_state=0).fit(X).plot(X, columns=(0, 1))))
    lines = list(root.iter(f"{SVG}polyline"))
    spans = [np.ptp([float(p.split(",")[0]) for p in line.attrib["points"].split()]) for line in lines]
    assert ["stroke-dasharray" in line.attrib for line in lines] == [False, True] * 2
    assert_allclose(spans[1::2], 2 * np.array(spans[::2]), atol=0.3)
