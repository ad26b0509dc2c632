"""The kd-tree: right whatever the points are like."""

from __future__ import annotations

import pickle
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import neighbors as sk
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances

import posteriori as po
from posteriori import KDTree
from posteriori.errors import BadValue, ModelError
from posteriori.neighbors.kdtree import make_search, merged, smallest

from ..kernels.reference import neighbors as reference


@st.composite
def clouds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Points with duplicates and ties, at any scale, a query among them or not, and k up to n."""
    n, d = draw(st.integers(1, 60)), draw(st.sampled_from([1, 2, 3, 8, 100]))
    kind = draw(st.sampled_from(["floats", "grid", "equal"]))
    if kind == "floats":
        cells = st.floats(-10, 10, allow_subnormal=False)
    else:
        cells = st.integers(0, 2 if kind == "grid" else 0).map(float)
    scale = draw(st.sampled_from([1.0, 1e300, 1e-300, 1e9]))
    X = draw(arrays(np.float64, (n, d), elements=cells)) * scale
    Q = draw(arrays(np.float64, (3, d), elements=cells)) * scale
    return X, np.concatenate([Q, X[:1]]), draw(st.integers(1, n))


@given(clouds(), st.sampled_from([1, 4, "auto"]), st.sampled_from(["euclidean", "manhattan", "chebyshev", "minkowski"]))
def test_distances_are_brute_force(cloud, leaf_size, metric):
    X, Q, k = cloud
    distance, index = KDTree(X, metric, p=3, leaf_size=leaf_size).query(Q, k)
    wanted, _ = reference.nearest(X, Q, k, metric, 3.0)
    np.testing.assert_allclose(distance, wanted, rtol=1e-9, atol=0)
    assert all(len(set(row)) == k for row in index)
    again = reference.distances(X, Q, metric, 3.0)
    np.testing.assert_allclose(np.take_along_axis(again, index, axis=1), wanted, rtol=1e-9, atol=0)


@given(clouds(), st.sampled_from([1, 4, "auto"]), st.sampled_from(["euclidean", "manhattan", "chebyshev", "minkowski"]))
def test_a_trace_visits_every_node_but_those_below_a_cut_and_ends_at_the_neighbours(cloud, leaf_size, metric):
    X, Q, k = cloud
    tree = KDTree(X, metric, p=3, leaf_size=leaf_size)
    nodes = tree.nodes
    for q in Q:
        steps = tree.trace(q, k)
        open_ones = {step.node for step in steps if not step.is_cut and not nodes[step.node].is_leaf}
        below = [child for at in open_ones for child in (nodes[at].left, nodes[at].right)]
        assert sorted(step.node for step in steps) == sorted([0, *below])
        for step in steps:
            inside = X[within(X, nodes, step.node)]
            nearest = reference.nearest(inside, q[None], 1, metric, 3.0)[0][0, 0]
            assert step.bound <= nearest * (1 + 1e-9)
        found = sorted({row for step in steps for row in step.found})
        wanted = tree.query(q[None], k)[0][0]
        assert reference.nearest(X[found], q[None], k, metric, 3.0)[0][0] == pytest.approx(wanted, rel=1e-9, abs=0)


def within(X, nodes, at):
    """The rows whose points lie in the region of a node, by its leaves."""
    low, high = nodes[at].region
    inside = (np.greater_equal(X, low) & np.less(X, high)).all(axis=1)
    rows, waiting = [], [at]
    while waiting:
        node = nodes[waiting.pop()]
        rows += node.points.tolist()
        waiting += [] if node.is_leaf else [node.left, node.right]
    assert sorted(rows) == np.flatnonzero(inside).tolist()
    return rows


def test_regions_part_the_space():
    """The six points of the textbooks: the cuts are at x = 7, then y = 4 and y = 2."""
    tree = KDTree([[2, 3], [5, 4], [9, 6], [4, 7], [8, 1], [7, 2]], leaf_size=1)
    region = [np.array(node.region).tolist() for node in tree.nodes]
    inf = np.inf
    assert region[0] == [[-inf, -inf], [inf, inf]]
    assert (region[1], region[6]) == ([[-inf, -inf], [7, inf]], [[7, -inf], [inf, inf]])
    assert (region[2], region[3]) == ([[-inf, -inf], [7, 4]], [[-inf, 4], [7, inf]])
    assert [(s.node, s.found) for s in tree.trace([2, 4.5]) if not s.is_cut] == [
        (0, ()), (1, ()), (3, ()), (4, (1,)), (2, (0,))
    ]  # fmt: skip
    with pytest.raises(BadValue, match="one query"):
        tree.trace([[2, 4.5], [1, 1]])
    with pytest.raises(ModelError, match="k=7"):
        tree.trace([2, 4.5], k=7)
    with pytest.raises(BadValue, match="3 columns"):
        tree.trace([2, 4.5, 1])


@pytest.mark.parametrize("far", [1e300, -1e300, 1e200, 1e-300])
def test_one_point_far_from_its_query(far):
    tree = KDTree(np.array([[far, far]]))
    assert tree.query(np.zeros((1, 2)), 1)[0].item() == pytest.approx(abs(far) * np.sqrt(2), rel=1e-12)
    tree32 = KDTree(np.array([[1e30]], dtype=np.float32))
    assert tree32.query(np.zeros((1, 1), dtype=np.float32), 1)[0].item() == pytest.approx(1e30, rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 40))
def test_ties_go_to_the_lower_row(seed, d, k):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (200, d)).astype(float)
    Q = rng.integers(0, 3, (5, d)).astype(float)
    wanted = reference.nearest(X, Q, k)[1]
    for leaf_size in (1, 8, 500):
        assert np.array_equal(KDTree(X, leaf_size=leaf_size).query(Q, k, return_distance=False), wanted)


@given(clouds())
def test_float32(cloud):
    X, Q, k = cloud
    with np.errstate(over="ignore", under="ignore"):
        X, Q = X.astype(np.float32), Q.astype(np.float32)
    if not (np.isfinite(X).all() and np.isfinite(Q).all()):
        return
    distance, _ = KDTree(X).query(Q, k)
    assert distance.dtype == np.float32
    wanted = reference.nearest(X.astype(float), Q.astype(float), k)[0]
    np.testing.assert_allclose(distance, wanted, rtol=1e-5, atol=1e-44)


def test_a_query_far_beyond_the_points():
    X = np.random.default_rng(0).standard_normal((50, 3))
    distance, index = KDTree(X).query([[1e200, 0, 0], [0, 0, 0], [-1e308, 1e308, 0]], 3)
    assert np.isfinite(distance[:2]).all()
    np.testing.assert_allclose(distance[0], 1e200)
    assert np.array_equal(index[1], reference.nearest(X, np.zeros((1, 3)), 3)[1][0])


def test_a_column_of_one_huge_value_does_not_drown_the_others():
    X = np.column_stack([np.full(40, 1e300), np.arange(40.0)])
    assert np.array_equal(KDTree(X).query([[1e300, 7.2]], 3, return_distance=False), [[7, 8, 6]])


def test_a_million_equal_points():
    X = np.ones((1_000_000, 3))
    tree = KDTree(X)
    assert len(tree.nodes) == 1
    distance, index = tree.query(np.ones((1000, 3)), 5)
    assert not distance.any()
    assert np.array_equal(index, np.tile(np.arange(5), (1000, 1)))
    X[::2] = 2
    X[7] = 3
    assert np.array_equal(KDTree(X).query([[2.9, 3, 3]], 3, return_distance=False), [[7, 0, 2]])
    few_values = np.random.default_rng(0).integers(0, 2, (300_000, 4)).astype(float)
    assert np.array_equal(
        KDTree(few_values).query(few_values[:2000], 2), reference_of_duplicates(few_values, few_values[:2000])
    )


def reference_of_duplicates(X: np.ndarray, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance 0 and the first two rows that equal each query."""
    first: dict[bytes, list[int]] = {}
    for i, row in enumerate(X):
        found = first.setdefault(row.tobytes(), [])
        if len(found) < 2:
            found.append(i)
    return np.zeros((len(Q), 2)), np.array([first[q.tobytes()] for q in Q])


def test_radius_and_count():
    rng = np.random.default_rng(0)
    X, Q = rng.integers(0, 4, (300, 2)).astype(float), rng.integers(0, 4, (9, 2)).astype(float)
    tree = KDTree(X, leaf_size=8)
    found, far = tree.query_radius(Q, 1.0, return_distance=True)
    D = reference.distances(X, Q)
    for i in range(9):
        inside = np.flatnonzero(D[i] <= 1)
        order = np.lexsort((inside, D[i][inside]))
        assert np.array_equal(found[i], inside[order])
        assert np.array_equal(far[i], D[i][inside[order]])
    assert np.array_equal(tree.count(Q, 1.0), (D <= 1).sum(axis=1))
    assert np.array_equal(tree.count(Q, np.linspace(0, 4, 9)), (np.linspace(0, 4, 9)[:, None] >= D).sum(axis=1))


def test_nodes_are_the_tree():
    X = np.random.default_rng(1).standard_normal((500, 3))
    nodes = KDTree(X, leaf_size=10).nodes
    below = {}
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        if node.is_leaf:
            below[i] = node.points
            assert len(node.points) <= 10
        else:
            below[i] = np.concatenate([below[node.left], below[node.right]])
            assert node.left == i + 1
            assert node.points.shape == (0,)  # only a leaf has points
            assert (X[below[node.left], node.dim] < node.value).all()
            assert (X[below[node.right], node.dim] >= node.value).all()
            widths = node.hi - node.lo
            assert widths[node.dim] == widths.max()
        assert np.array_equal(node.lo, X[below[i]].min(axis=0))
        assert np.array_equal(node.hi, X[below[i]].max(axis=0))
    assert np.array_equal(np.sort(below[0]), np.arange(500))


def test_a_large_tree_is_balanced_and_whole():
    X = np.random.default_rng(1).standard_normal((100_000, 2))
    tree = KDTree(X)
    assert np.array_equal(tree.data, X)
    depth, deepest = {0: 0}, 0
    for i, node in enumerate(tree.nodes):
        deepest = max(deepest, depth[i])
        if not node.is_leaf:
            depth[node.left] = depth[node.right] = depth[i] + 1
    assert deepest <= 16  # 100 000 / 32 needs 12


def test_pickle_keeps_everything():
    X = np.random.default_rng(0).standard_normal((200, 3))
    tree = pickle.loads(pickle.dumps(KDTree(X, "manhattan")))
    assert np.array_equal(tree.data, X)
    assert np.array_equal(tree.query(X, 3)[0], KDTree(X, "manhattan").query(X, 3)[0])


@pytest.mark.parametrize("form", ["fortran", "strided", "integers", "lists", "objects"])
def test_any_memory_layout(form):
    X = np.random.default_rng(0).integers(-50, 50, (80, 4)).astype(float)
    given = {
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
        "integers": X.astype(np.int32),
        "lists": X.tolist(),
        "objects": X.astype(object),
    }[form]
    assert np.array_equal(KDTree(given).query(given, 4)[1], KDTree(X).query(X, 4)[1])


def test_errors_say_what_came():
    tree = KDTree([[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ModelError, match="k=3 neighbours of 2 points"):
        tree.query([[0, 0]], 3)
    with pytest.raises(ModelError, match="did you mean 'manhattan'"):
        KDTree([[0.0]], metric="manhatan")
    with pytest.raises(BadValue, match="3 columns, the tree was built on 2"):
        tree.query([[0, 0, 0]])
    for bad in (np.nan, np.inf):
        with pytest.raises(BadValue, match="finite"):
            KDTree([[bad]])
        with pytest.raises(BadValue, match="finite"):
            tree.query([[bad, 0]])
    with pytest.raises(BadValue, match="at least one row"):
        KDTree(np.empty((0, 2)))
    with pytest.raises(ModelError, match="leaf_size"):
        KDTree([[0.0]], leaf_size=0)
    with pytest.raises(ModelError, match="range"):
        KDTree([[0.0]], "minkowski", p=0)


def test_several_threads_at_once():
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((20_000, 3)), rng.standard_normal((500, 3))
    tree = KDTree(X)
    wanted = tree.query(Q, 6)
    right = []

    def ask() -> None:
        for _ in range(5):
            mine = KDTree(X).query(Q, 6)
            shared = tree.query(Q, 6)
            right.append(all(np.array_equal(a, b) for a, b in zip(wanted + wanted, mine + shared)))

    team = [threading.Thread(target=ask) for _ in range(4)]
    for t in team:
        t.start()
    for t in team:
        t.join()
    assert right == [True] * 20  # as many as were asked: a thread that died would be missing


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals")
def test_an_interrupt_ends_a_long_search():
    rng = np.random.default_rng(0)
    tree = KDTree(rng.standard_normal((100_000, 16)))
    Q = rng.standard_normal((200_000, 16))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        begin = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            tree.query(Q, 10)
        assert time.perf_counter() - begin < 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_plot_draws_every_cut():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X = np.random.default_rng(0).standard_normal((40, 2))
    tree = KDTree(X, leaf_size=4)
    ax = tree.plot(query=[0, 0], k=3)
    cuts = sum(not node.is_leaf for node in tree.nodes)
    assert len(ax.lines) == cuts + 3  # the points, the neighbours, the query
    with pytest.raises(ModelError, match="2 dimensions"):
        KDTree([[0.0]]).plot()


def test_leaves_hold_from_one_point_to_a_million():
    points = np.zeros((3, 2))
    for size in (1, 2**20):
        assert KDTree(points, leaf_size=size).query(points, k=1)[1].shape == (3, 1)
    for size in (0, 2**20 + 1):
        with pytest.raises(ValueError, match="leaf_size"):
            KDTree(points, leaf_size=size)


@given(st.integers(0, 300), st.integers(2, 40), st.integers(1, 6))
def test_a_row_that_is_skipped_is_any_row_there_is(seed, n, leaf_size):
    """The first and the last too; beyond them is an error."""
    X = np.random.default_rng(seed).integers(0, 5, (n, 2)).astype(float)
    tree = KDTree(X, leaf_size=leaf_size)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(D, np.inf)
    index = tree.query(X, 1, return_distance=False, skip=np.arange(n))
    assert index[:, 0].tolist() == D.argmin(axis=1).tolist()
    for wrong in (-1, n):
        with pytest.raises(BadValue, match=f"0 to {n - 1}"):
            tree.query(X[:1], 1, skip=[wrong])
    for node in tree.nodes:
        if node.is_leaf:
            assert (node.dim, node.left, node.right) == (-1, -1, -1)
            assert np.isnan(node.value)


@given(st.integers(0, 300), st.integers(3, 60), st.integers(1, 12))
def test_the_share_of_leaves_that_are_seen_by_brute_force(seed, n, k):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    tree, rows = KDTree(X, leaf_size=4), np.arange(0, n, 2)
    leaves = [node for node in tree.nodes if node.is_leaf]
    few, many = [], []  # a leaf whose corner is the neighbour may be either side of rounding
    for r in rows:
        far = np.sort(np.sqrt(((np.delete(X, r, axis=0) - X[r]) ** 2).sum(axis=1)))[min(k, n - 1) - 1]
        gaps = [np.linalg.norm(np.maximum(np.maximum(leaf.lo - X[r], X[r] - leaf.hi), 0)) for leaf in leaves]
        few.append(np.mean([g <= far * (1 - 1e-9) for g in gaps]))
        many.append(np.mean([g <= far * (1 + 1e-9) for g in gaps]))
    assert np.mean(few) - 1e-12 <= tree.seen(rows, k) <= np.mean(many) + 1e-12


X, Y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore:Precomputed sparse input")
@pytest.mark.parametrize("mode", ["distance", "every"])
def test_a_sparse_graph_of_neighbours_is_scikit_learns(mode):
    A, y, Q = X[::2], Y[::2], X[1::4]
    graph = sk.NearestNeighbors(n_neighbors=20).fit(A)
    learned, asked = (graph.kneighbors_graph(Z, mode="distance") for Z in (A, Q))
    if mode == "every":
        learned, asked = sparse.csr_matrix(pairwise_distances(A)), sparse.csr_matrix(pairwise_distances(Q, A))
    mine = po.KNeighborsClassifier(7, metric="precomputed").fit(learned, y)
    theirs = sk.KNeighborsClassifier(7, metric="precomputed").fit(learned, y)
    assert np.array_equal(mine.predict(asked), theirs.predict(asked))
    np.testing.assert_allclose(mine.kneighbors(asked)[0], theirs.kneighbors(asked)[0])
    assert mine.score(asked, Y[1::4]) > 0.9


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_stored_entries_are_all_there_is(seed, k, own):
    """Dense distances with the absent ones at infinity; zeros that are stored are neighbours."""
    rng = np.random.default_rng(seed)
    n = 12
    D = rng.integers(0, 4, (n, n)).astype(float)
    stored = rng.random((n, n)) < 0.6
    stored[:, : k + 1] = True
    row, column = np.nonzero(stored)
    graph = sparse.csr_matrix((D[stored], (row, column)), shape=(n, n))
    model = po.KNeighborsRegressor(k, metric="precomputed").fit(graph, np.arange(n))
    distance, index = model.kneighbors() if own else model.kneighbors(graph)
    for i in range(n):
        who = [j for j in np.flatnonzero(stored[i]) if not (own and j == i)]
        who = sorted(who, key=lambda j: (D[i, j], j))[:k]
        assert index[i].tolist() == who
        assert distance[i].tolist() == D[i, who].tolist()


def test_a_graph_that_stores_too_few_is_named():
    graph = sparse.csr_matrix(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))  # zeros are not stored
    model = po.KNeighborsClassifier(2, metric="precomputed").fit(graph, [0, 1, 1])
    with pytest.raises(ModelError, match="2 neighbors are required for every row, but row 1"):
        model.predict(graph)
    auto = po.KNeighborsClassifier("auto", metric="precomputed").fit(graph, [0, 1, 1])
    assert auto.n_neighbors_ == 1 == len(auto.loo_curve_)
    for D in (np.array([[0.0, -1.0], [-1.0, 0.0]]), sparse.csr_matrix([[1.0, -1.0], [-1.0, 1.0]])):
        with pytest.raises(BadValue, match="Negative"):
            po.KNeighborsClassifier(1, metric="precomputed").fit(D, [0, 1])


RUBBISH = {
    "n_neighbors": [0, -1, 2.5, "five", None, np.nan, True],
    "weights": ["unifrom", 3, [1, 2]],
    "algorithm": ["kdtree", None, 1],
    "leaf_size": [0, -5, 2.5, "big", None, np.nan],
    "p": [0, -1, np.nan, "two", None],
    "metric": ["euclidian", 7, None],
    "metric_params": ["w", 3, [1]],
    "kinds": [7, "numbr", {"nobody": "numeric"}],
    "n_jobs": [0, 2.5, "all"],
    "smoothing": [-1, np.nan, np.inf, "some"],
}


@pytest.mark.parametrize("name", RUBBISH)
@pytest.mark.parametrize("kind", [po.KNeighborsClassifier, po.KNeighborsRegressor])
def test_rubbish_is_named_at_fit_and_when_it_is_next_read(kind, name):
    if name not in kind().get_params():
        return
    metric = "gower" if name == "kinds" else "minkowski"
    for value in RUBBISH[name]:
        with pytest.raises(ValueError) as error:
            kind(**{"metric": metric, name: value}).fit(X, Y)
        assert type(error.value).__module__ == "posteriori.errors"
        model = kind(metric=metric).fit(X, Y)
        before = model.predict(X)
        with pytest.raises(ValueError) as error:
            model.set_params(**{name: value}).predict(X)
        assert type(error.value).__module__ == "posteriori.errors"
        model.set_params(**kind(metric=metric).get_params())
        np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric": 3},
        {"metric": None},
        {"p": "two"},
        {"p": np.nan},
        {"leaf_size": 2.5},
        {"leaf_size": "big"},
        {"n_jobs": 0},
        {"n_jobs": "all"},
    ],
    ids=str,
)
def test_rubbish_for_a_tree(wrong):
    with pytest.raises(ModelError):
        po.KDTree(X, **wrong)


@pytest.mark.parametrize(
    "rows",
    [
        X.astype(complex),
        X.astype(str),
        np.array([["2020-01-01"]], dtype="M8[D]"),
        sparse.csr_matrix(X),
        [[1.0], [1.0, 2.0]],
        [["a", 1]],
        np.ma.masked_greater(X, 3),
        X[0],
        X[None],
        None,
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_that_are_no_points(rows):
    with pytest.raises(BadValue):
        po.KDTree(rows)
    with pytest.raises(BadValue):
        po.KDTree(X).query(rows)


def test_rubbish_for_a_query():
    tree = po.KDTree(X)
    for k in (2.5, "3", None, 0, 151):
        with pytest.raises(ModelError):
            tree.query(X, k)
    for skip in ([1], np.arange(150.0), np.arange(150) + 1, np.arange(150) - 1, ["a"] * 150):
        with pytest.raises(BadValue, match="skip"):
            tree.query(X, 2, skip=skip)
    for r in ("far", [1.0, 2.0], None, np.nan, 1j):
        with pytest.raises(BadValue):
            tree.query_radius(X, r)
    assert tree.count(X[:2], [1, 2]).tolist() == [len(f) for f in tree.query_radius(X[:2], [1.0, 2.0])]


def surface(n: int, d: int, k: int) -> np.ndarray:
    """Points near a surface of k dimensions in d columns."""
    rng = np.random.default_rng(0)
    return np.tanh(rng.standard_normal((n, k)) @ rng.standard_normal((k, d))) + 0.01 * rng.standard_normal((n, d))


@pytest.mark.parametrize(
    ("points", "way"),
    [
        (surface(4000, 20, 2), "Tree"),
        (surface(4000, 54, 3), "Tree"),
        (np.random.default_rng(0).standard_normal((4000, 20)), "Products"),
        (np.random.default_rng(0).standard_normal((4000, 5)), "Tree"),
        (surface(500, 20, 2), "Products"),
        (np.zeros((2000, 9)), "Products"),
        (surface(4000, 20, 2) * 1e-200, "Tree"),
    ],
)
def test_auto_looks_at_the_points_and_changes_no_answer(points, way):
    made = make_search(points, "euclidean", 2.0, "auto", "auto", None)
    assert type(made).__name__ == way
    Q = np.concatenate([points[:50], points[50:100] * 1.01])
    found = [make_search(points, "euclidean", 2.0, a, "auto", 1).query(Q, 12, None, 1) for a in ("kd_tree", "brute")]
    for other in found:
        for a, b in zip(made.query(Q, 12, None, None), other):
            assert np.array_equal(a, b)


@given(st.integers(0, 300), st.integers(1, 5), st.integers(1, 9), st.data())
def test_the_smallest_are_those_of_a_sort_by_value_and_column(seed, n, m, data):
    """Few values, so that many are equal; and the nearest of two answers are those of both together."""
    D = np.random.default_rng(seed).integers(0, 4, (n, m)).astype(float)
    k, at = data.draw(st.integers(1, m)), data.draw(st.integers(0, m))
    wanted = np.array([sorted(range(m), key=lambda j: (row[j], j))[:k] for row in D])
    distance, index = smallest(D, k)
    assert index.tolist() == wanted.tolist()
    assert np.array_equal(distance, np.take_along_axis(D, wanted, axis=1))
    parts = [(D[:, cut], np.broadcast_to(np.arange(m)[cut], D[:, cut].shape)) for cut in (slice(at, m), slice(0, at))]
    both = merged(*parts, k)
    assert both[1].tolist() == wanted.tolist()
    assert np.array_equal(both[0], distance)
