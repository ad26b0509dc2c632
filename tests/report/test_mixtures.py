"""Drawings of mixtures are of the data they say they are of; a latent class model's bars say its tables."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from defusedxml import ElementTree
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.errors import BadParameter, ModelError
from posteriori.report import mixtures
from posteriori.report.mixtures import (
    BARS,
    COLOURS,
    EDGE,
    GAP,
    LEFT,
    MOST_VALUES,
    _profile,
    _profile_rows,
    axes,
    blended,
    box,
    clipped,
    ellipse,
    profile_drawing,
    steps_drawing,
    trace_drawing,
)
from posteriori.report.mixtures import (
    line as curve_of,
)
from posteriori.report.scene import LINE, MARGIN, element, svg, text_width

from .drawn import Seen

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
    drawing = po.GaussianMixture(2, init_params="random", random_state=0).plot_steps(X, (0, 1, 5))
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


def drawn(*body):
    return ElementTree.fromstring(svg(element("svg", *body, xmlns="http://www.w3.org/2000/svg")))


def points(line) -> list[tuple[float, ...]]:
    return [tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]


def told(root) -> list[tuple]:
    return [
        (t.text, float(t.attrib["x"]), float(t.attrib["y"]), t.attrib["text-anchor"])
        for t in root.iter(f"{SVG}text")
        if "x" in t.attrib
    ]


def test_a_frame_is_linear_from_corner_to_corner() -> None:
    p = box(np.array([0.0, 100.0]), np.array([10.0, 20.0]), left=50.0, wide=242.0, high=156.0)
    assert p.x == (-6.0, 106.0)
    assert p.y == pytest.approx((9.4, 20.6))
    left, right, foot, head = 50 + LEFT, 50 + 242.0 - 8, 156.0 - EDGE, 22.0
    assert (p.left, p.right, p.top, p.bottom) == (left, right, head, foot)
    x, y = zip(*p.points([22.0, 50.0], [15.0, 12.2]))
    assert x == pytest.approx([left + (right - left) / 4, (left + right) / 2])
    assert y == pytest.approx([(foot + head) / 2, foot - (foot - head) / 4])
    root = drawn(*axes(p, "a < b", "across", "up & down"))
    (rect,) = root.iter(f"{SVG}rect")
    assert [float(rect.attrib[k]) for k in ("x", "y", "width", "height")] == [left, head, right - left, foot - head]
    middle = (left + right) / 2
    assert told(root) == [
        ("-6", left, foot + 14, "start"),
        ("106", right, foot + 14, "end"),
        ("across", middle, foot + 26, "middle"),
        ("9.4", left - 4, foot, "end"),
        ("20.6", left - 4, head + 8, "end"),
        ("a < b", middle, head - 8, "middle"),
    ]
    side = [t for t in root.iter(f"{SVG}text") if "x" not in t.attrib]
    assert [(t.text, t.attrib["transform"]) for t in side] == [
        ("up & down", f"translate({left - 22:.1f},{(foot + head) / 2:.1f}) rotate(-90)")
    ]
    (inner,) = (e for e in drawn(clipped(p, [element("g")])).iter(f"{SVG}svg") if "x" in e.attrib)
    wanted = [left, head, right - left, foot - head]
    assert [float(inner.attrib[k]) for k in ("x", "y", "width", "height")] == wanted
    assert [float(v) for v in inner.attrib["viewBox"].split()] == wanted
    told_across = box(np.array([5.0]), np.array([1.0, 3.0]), across=(2.0, 4.0))
    assert told_across.x == (2.0, 4.0)
    assert told_across.y == pytest.approx((0.88, 3.12))


def test_a_line_goes_through_its_points() -> None:
    p = box(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    (curve,) = drawn(curve_of(p, [0.0, 0.5, 1.0], [1.0, 0.0, 0.25], "#123456"))
    assert points(curve) == [pytest.approx(at, abs=0.06) for at in p.points([0.0, 0.5, 1.0], [1.0, 0.0, 0.25])]
    assert (curve.attrib["stroke"], curve.attrib["stroke-width"]) == ("#123456", "1.6")
    assert "stroke-dasharray" not in curve.attrib
    (curve,) = drawn(curve_of(p, [0.0], [1.0], "#123456", 1.2, True))
    assert "stroke-dasharray" in curve.attrib


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([1.0, 3.0, np.nan, np.inf], (0.88, 3.12)),
        ([40.0, 40.0], (38.0, 42.0)),  # no width: a twentieth to either side
        ([-40.0], (-42.0, -38.0)),
        ([0.5], (0.45, 0.55)),
        ([], (-0.06, 1.06)),
    ],
)
def test_a_range_has_a_little_room(values: list[float], ends: tuple[float, float]) -> None:
    assert mixtures._range(np.array(values)) == pytest.approx(ends)


def test_colours_begin_anew_after_the_last_and_mix() -> None:
    assert blended(np.eye(10)) == [*COLOURS, *COLOURS[:2]]
    assert blended(np.array([[0.25, 0.75, 0.0]])) == ["#ac942c"]  # of #0072b2 and #e69f00
    assert blended(np.array([[2.0, 2.0]]))[0][1:3] == "ff"  # no more than all


def test_two_columns_by_number_and_their_names() -> None:
    model = po.GaussianMixture(2, random_state=0).fit(rows(3))
    assert mixtures._pair(model, (0, 2)) == [0, 2]
    assert mixtures._pair(model, (-3, -1)) == [-3, -1]
    for bad in ((0, 3), (-4, 0), (0,), (0, 1, 2), "ab", 5):
        with pytest.raises(BadParameter, match="two of the 3 columns"):
            mixtures._pair(model, bad)
    assert mixtures._names(model, [2, 0]) == ["x2", "x0"]
    import pandas as pd

    named = po.GaussianMixture(2, random_state=0).fit(pd.DataFrame(rows(3), columns=["a", "b", "c"]))
    assert mixtures._names(named, [2, 0]) == ["c", "a"]


def test_of_many_rows_some_are_drawn_from_the_first_to_the_last() -> None:
    many = np.arange(2001.0)[:, None]
    found = mixtures._picked(many)
    assert (len(found), found[0, 0], found[-1, 0]) == (2000, 0.0, 2000.0)
    assert len(mixtures._picked(many[:2000])) == 2000
    X = np.arange(4002.0)[:, None]
    assert np.diff(mixtures._picked(X)[:, 0]) == pytest.approx(2.0, abs=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scene_shows_points_where_they_are_and_components_over_them(kind: str) -> None:
    X = rows(3)
    model = po.GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    sigma = mixtures._matrices(model)
    assert sigma.shape == (2, 3, 3)
    given = np.asarray(model.covariances_)
    if kind == "full":
        assert sigma == pytest.approx(given)
    elif kind == "diag":
        assert sigma == pytest.approx(np.array([np.diag(v) for v in given]))
    elif kind == "tied":
        assert sigma == pytest.approx(np.array([given, given]))
    else:
        assert sigma == pytest.approx(np.array([v * np.eye(3) for v in given]))
    root = ElementTree.fromstring(str(model.plot(X, columns=(2, 0))))
    rings = [ellipse(m[[2, 0]], s[np.ix_([2, 0], [2, 0])], k) for m, s in zip(model.means_, sigma) for k in (1, 2)]
    both = [np.concatenate([X[:, c], *(ring[i] for ring in rings[1::2])]) for i, c in enumerate((2, 0))]
    p = box(*both)
    lines = list(root.iter(f"{SVG}polyline"))
    for line, ring in zip(lines, rings, strict=True):
        assert np.array(points(line)) == pytest.approx(np.array(p.points(*ring)), abs=0.06)
    assert [line.attrib["stroke"] for line in lines] == [COLOURS[0]] * 2 + [COLOURS[1]] * 2
    assert [float(line.attrib["stroke-width"]) for line in lines] == [2.0, 1.0] * 2
    circles = list(root.iter(f"{SVG}circle"))
    at = np.array(p.points(np.append(X[:, 2], model.means_[:, 2]), np.append(X[:, 0], model.means_[:, 0])))
    assert np.array([(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles]) == pytest.approx(at, abs=0.06)
    assert [c.attrib["fill"] for c in circles] == blended(model.predict_proba(X)) + list(COLOURS[:2])
    assert told(root)[2][0] == "x2"
    assert told(root)[5][0] == "2 components"
    assert [t.text for t in root.iter(f"{SVG}title")] == [
        f"component {k}: weight {model.weights_[k]:.3g}" for k in (0, 1)
    ]
    assert root.attrib["aria-label"] == "mixture of 2 components over 120 points"


def test_a_density_is_the_sum_of_its_parts() -> None:
    X = np.vstack([rows(1), [[np.nan]]])
    model = po.GaussianMixture(2, random_state=0).fit(X)
    root = ElementTree.fromstring(str(model.plot(X)))
    *rug, one, two, whole = root.iter(f"{SVG}polyline")
    known = X[:-1, 0]
    x = np.linspace(*mixtures._range(known), 200)
    parts = np.exp(model._log_joint(x[:, None]))
    p = box(x, np.append(parts.sum(axis=1), 0.0))
    for line, density in ((one, parts[:, 0]), (two, parts[:, 1]), (whole, parts.sum(axis=1))):
        assert np.array(points(line)) == pytest.approx(np.array(p.points(x, density)), abs=0.06)
    assert ["stroke-dasharray" in line.attrib for line in (one, two, whole, rug[0])] == [True, True, False, False]
    assert [line.attrib["stroke"] for line in (one, two)] == list(COLOURS[:2])
    top = 0.03 * parts.sum(axis=1).max()
    for line, v in zip(rug, known, strict=True):
        assert np.array(points(line)) == pytest.approx(np.array(p.points([v, v], [0, top])), abs=0.06)
    assert told(root)[2][0] == "x0"


def test_marks_of_a_trace_lie_on_it() -> None:
    trace = [-3.0, -2.0, -2.5]
    root = ElementTree.fromstring(str(trace_drawing(trace, [(1, "a"), (3, "b"), (0, "no"), (4, "no")])))
    p = box(np.arange(1.0, 4), np.array(trace), high=200.0, across=(1.0, 3.0))
    (line,) = root.iter(f"{SVG}polyline")
    assert points(line) == [pytest.approx(p, abs=0.06) for p in (p.points([1, 2, 3], trace))]
    marks = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{SVG}circle")]
    assert marks == [points(line)[0], points(line)[2]]
    assert [t.text for t in root.iter(f"{SVG}title")] == ["turn 1: a", "turn 3: b"]
    assert root.attrib["aria-label"] == "mean log-likelihood over 3 turns"
    assert (root.attrib["height"], root.attrib["viewBox"]) == ("200", "0 0 380 200")
    one = ElementTree.fromstring(str(trace_drawing([5.0])))
    assert [t[0] for t in told(one)[:2]] == ["1", "2"]
    assert told(one)[5][0] == "1 turn"


def test_steps_begin_anew_and_stand_beside_each_other() -> None:
    X = rows(2)
    model = po.GaussianMixture(2, init_params="random", random_state=0, warm_start=True, tol=9.0)
    root = ElementTree.fromstring(str(steps_drawing(model, X, (0, 3), columns=(1, 0))))
    boxes = [float(box.attrib["x"]) for box in root.iter(f"{SVG}rect")]
    assert boxes == [LEFT, 240 + LEFT]
    assert root.attrib["viewBox"] == "0 0 480 210"
    assert root.attrib["aria-label"] == "a mixture after 0, 3 turns"
    assert [t[0] for t in told(root)][5::6] == ["start", "after 3 turns"]
    assert [t[0] for t in told(root)][2::6] == ["x1", "x1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        last = po.GaussianMixture(2, init_params="random", random_state=0, max_iter=3, tol=0.0).fit(X)
    p = box(X[:, 1], X[:, 0], left=240.0, wide=240.0, high=210.0)
    centres = [[float(c.attrib[k]) for k in ("cx", "cy")] for c in root.iter(f"{SVG}circle") if c.attrib["r"] == "4"]
    assert np.array(centres[2:]) == pytest.approx(np.array(p.points(last.means_[:, 1], last.means_[:, 0])), abs=0.06)


def test_centres_of_k_means_are_drawn_over_their_rows() -> None:
    X = rows(3)
    model = po.KMeans(2, random_state=0).fit(X)
    root = ElementTree.fromstring(str(model.plot(X, columns=(2, 1))))
    centres = model.cluster_centers_
    p = box(np.append(X[:, 2], centres[:, 2]), np.append(X[:, 1], centres[:, 1]))
    circles = list(root.iter(f"{SVG}circle"))
    at = np.array(p.points(np.append(X[:, 2], centres[:, 2]), np.append(X[:, 1], centres[:, 1])))
    assert np.array([(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles]) == pytest.approx(at, abs=0.06)
    assert [c.attrib["fill"] for c in circles] == [COLOURS[k] for k in (*model.predict(X), 0, 1)]
    assert [t[0] for t in told(root)][2::3] == ["x2", "2 centres"]
    assert [t.text for t in root.iter(f"{SVG}title")] == ["centre 0", "centre 1"]
    assert root.attrib["aria-label"] == "2 centres over 120 points"
    one = ElementTree.fromstring(str(po.KMeans(2, random_state=0).fit(rows(1)).plot(rows(1))))
    assert told(one)[2][0] == "x0"


def test_a_notebook_shows_the_components_as_a_table() -> None:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = po.GaussianMixture(21, covariance_type="diag", random_state=0, max_iter=2).fit(rng.normal(size=(90, 9)))
    text = model._repr_html_()
    assert text.count("<th>x") == 8
    assert text.count("<tr><td>") == 20
    assert text.count("<td>") == 20 * (2 + 8)
    assert "21 components, diag, did not converge in 2 turns" in text
    assert f"<td>{model.weights_[0]:.3f}</td><td>{model.means_[0, 0]:.4g}</td>" in text
    assert "2 turns</text>" in text


def test_a_mean_far_below_its_spread_is_none():
    table = pd.DataFrame([[3e-102, 0.2], [0.05, 0.1]], index=["mean", "sd"])
    ((label, cells),) = _profile_rows(table)
    assert label == "mean ± sd"
    assert [text for *_, text in cells] == ["0 ± 0.05", "0.2 ± 0.1"]
    assert all(0 <= a < b <= 1 for a, b, _ in cells)


def test_means_and_spreads_lie_on_the_scale_of_their_column():
    table = pd.DataFrame([[1.0, 5.0, -2.0], [2.0, 1.0, 0.5]], index=["mean", "sd"])
    ((_, cells),) = _profile_rows(table)  # from −2.5 to 6
    assert [c[:2] for c in cells] == [
        pytest.approx(v) for v in ((1.5 / 8.5, 5.5 / 8.5), (6.5 / 8.5, 1.0), (0.0, 1 / 8.5))
    ]
    assert [c[2] for c in cells] == ["1 ± 2", "5 ± 1", "-2 ± 0.5"]
    ((_, same),) = _profile_rows(pd.DataFrame([[3.0, 3.0], [0.0, 0.0]], index=["mean", "sd"]))
    assert same == [(0.0, 0.0, "3 ± 0")] * 2  # no width is no division
    ((_, border),) = _profile_rows(pd.DataFrame([[0.001, -0.00099], [1.0, 1.0]], index=["mean", "sd"]))
    assert [c[2] for c in border] == ["0.001 ± 1", "0 ± 1"]


def test_rates_are_shares_of_the_highest():
    ((label, cells),) = _profile_rows(pd.DataFrame([[1.0, 4.0, 0.5]], index=["rate"]))
    assert (label, cells) == ("rate", [(0.0, 0.25, "1"), (0.0, 1.0, "4"), (0.0, 0.125, "0.5")])
    ((_, none),) = _profile_rows(pd.DataFrame([[0.0, 0.0]], index=["rate"]))
    assert none == [(0.0, 0.0, "0")] * 2


@pytest.mark.parametrize("n", [MOST_VALUES, MOST_VALUES + 3])
def test_of_many_values_the_likeliest_are_drawn_in_their_order(n):
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(n), 2).T
    found = _profile_rows(pd.DataFrame(values, index=[f"v{i}" for i in range(n)]))
    likely = sorted(sorted(range(n), key=lambda i: -values[i].max())[:MOST_VALUES])
    assert [label for label, _ in found[:MOST_VALUES]] == [f"v{i}" for i in likely]
    for i, (_, cells) in zip(likely, found):
        assert cells == [(0.0, p, f"{p:.1%}") for p in values[i]]
    assert found[MOST_VALUES:] == ([] if n == MOST_VALUES else [("… 3 more", [])])


ROWS = [
    ("class", "share", [(0.0, 0.25, "25.0%"), (0.0, 0.75, "75.0%")]),
    ("a <b>", "yes", [(0.0, 0.5, "50.0%"), (0.0, 0.001, "0.1%")]),
    ("a <b>", "… 3 more", []),
    ("size", "mean ± sd", [(0.25, 0.75, "3 ± 1"), (0.5, 1.0, "4 ± 1")]),
]


def test_a_bar_is_drawn_from_where_it_begins_to_where_it_ends():
    seen = Seen(_profile(ROWS, ["one", "two"]))
    left = max(text_width(t) for t in ("class", "  share", "a <b>", "  … 3 more", "  mean ± sd")) + GAP
    columns = [left, left + BARS + GAP]
    heads, y = {}, float(LINE)
    wanted, frames, tips, texts = [], [], [], [("one", columns[0], LINE / 2), ("two", columns[1], LINE / 2)]
    for name, label, cells in ROWS:
        if name not in heads:
            y += 0.4 * LINE
            heads[name] = y
            texts.append((name, 0.0, y + LINE / 2))
            y += LINE
        texts.append((label, GAP, y + LINE / 2))
        for x, c, (a, b, says) in zip(columns, ("one", "two"), cells):
            frames.append((x, y + 1, BARS, LINE - 2))
            wanted.append((x + BARS * a, y + 1, max(BARS * (b - a), 0.6), LINE - 2))
            texts.append((says, x + 4, y + LINE / 2))
            tips.append(f"{name} {label}, class {c}: {says}")
        y += LINE
    bars = seen.numbers("rect", "bar")
    assert bars == [pytest.approx(w, abs=0.06) for w in wanted]
    assert [r for r in seen.numbers("rect") if r not in bars] == [pytest.approx(f, abs=0.06) for f in frames]
    assert [(t.said, t.x, t.y) for t in seen.texts()] == [
        (t, pytest.approx(x, abs=0.06), pytest.approx(h, abs=0.06)) for t, x, h in texts
    ]
    assert [t.text for t in seen.all("title")] == tips
    bold = [t.text for t in seen.all("text") if t.get("font-weight")]
    assert bold == ["one", "two", "class", "a <b>", "size"]
    assert (seen.x0, seen.y0) == (-MARGIN, -MARGIN)
    assert (seen.wide, seen.tall) == pytest.approx((left + 2 * (BARS + GAP) + 2 * MARGIN, y + 2 * MARGIN), abs=0.06)
    assert (seen.root.get("width"), seen.root.get("height")) == (f"{seen.wide:.0f}", f"{seen.tall:.0f}")
    assert seen.root.get("aria-label") == "profile of 2 classes"
    seen.everything_is_inside()


def test_the_shares_of_the_classes_come_first():
    prior = pd.DataFrame({"P": [0.25, 0.75]}, index=["u", "v"])
    model = SimpleNamespace(tables_={"kind": prior, "n": pd.DataFrame([[1.0, 2.0]], index=["rate"])})
    root = ET.fromstring(str(profile_drawing(model)))
    told = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert told == ["u", "v", "kind", "share", "25.0%", "75.0%", "n", "rate", "1", "2"]
    assert list(model.tables_) == ["kind", "n"]  # the model keeps its own
