"""What a call will take is told before it starts: it runs with these bytes and is refused with one less."""

from __future__ import annotations

import copy
import tracemalloc
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from sklearn.naive_bayes import GaussianNB

import posteriori as po
from posteriori import budget
from posteriori.decision.on_points import OnPoints
from posteriori.errors import BadValue, MemoryBudgetError
from posteriori.forest.auto import Growing, NotMade
from posteriori.forest.boosted import grow_rounds
from posteriori.kernels import count_pairs, grow_members, grow_trees
from posteriori.kernels.trees import Boosting, Codes
from posteriori.network.insight import exact_risk
from posteriori.network.normals import Gaussians, Regression
from posteriori.network.numbers import Numbers
from posteriori.network.tables import refuse_table
from posteriori.statistics.collect import _refuse_histograms
from posteriori.statistics.comoments import collect_family_moments
from posteriori.statistics.cuts import CodedTable
from posteriori.table.encode import numbers
from posteriori.table.frame import open_frame

N, D, S, K = 240, 6, 5, 3  # rows, columns, values of each, classes
ROOM = 4  # classes of a table of θ: three and one that is padding
X = np.random.default_rng(0).permuted(np.arange(N * D).reshape(D, N) % S, axis=1).T
Y = np.arange(N) % K
WORDS = {f"x{j}": column.astype(str) for j, column in enumerate(X.T)}
WIDE = {f"x{j}": np.random.default_rng(j).integers(0, S, N).astype(str) for j in range(13)}  # no merging
SCORED = N * (3 * D + D * (S + 1) / 4 + 32 + 2 * 8)  # codes, bits, rows, logarithms
SPARSE = scipy.sparse.csr_matrix(X.astype(np.float32))
CODES = Codes(np.ascontiguousarray(X.T, dtype=np.uint8), (S,) * D, (True,) * D)
MANY = np.arange(1100)
PAIRS = D * (D - 1) // 2
TEXT = po.NaiveBayes(kinds={"t": "text"}).fit({"t": ["aa bb cc", "bb cc", "aa", "cc cc cc cc"] * 9}, [0, 1] * 18)
MEMBERS = grow_members(CODES, (False,) * D, Y, K, None, np.arange(2, dtype=np.uint64), 1 << 16)


def categorical(model):
    return model.set_params(kinds="categorical").fit(X, Y)


def asked(model):
    """It makes its tables at the first question."""
    return copy.deepcopy(model).predict(X)


def one(model):
    return copy.deepcopy(model).predict(X[:1] + 0.5)


def network():
    tables = [np.full(3, 1 / 3), np.full((3, 4), 0.25), np.full((3, 4, 2), 0.5)]
    return Numbers.of([3, 4, 2], [(), (0,), (0, 1)], tables)


def normals():
    regression = Regression(np.zeros(6), np.zeros((6, 0)), np.ones(6))
    given = dict.fromkeys("xy", (("u", "v"), ()))
    return Gaussians(("x", "y"), given, dict.fromkeys("xy", regression), {"u": 2, "v": 3})


def comoments():
    table, scopes = CodedTable(X, (S,) * D), [((0, 1), (6, 7))]
    return collect_family_moments(table, X[:, :2] + 0.5, (6, 7), scopes, Y, K, None, "abcdefgh")


class Begun(Exception):
    """The question was passed."""


class Draws:
    def integers(self, *_, **__):
        raise Begun


def growing(**more):
    found = SimpleNamespace(codes=CODES, y=Y, K=K, weights=None, n_jobs=1, max_memory=None, **more)
    found._need = partial(Growing._need, found)
    return found


def opened():
    vars(MEMBERS).pop("_opened", None)
    return MEMBERS.opened()


def boosted(rows, rounds, depth):
    """Bytes of rounds: trees of five folds, rows, and sums of five folds."""
    nodes = min(2 ** (depth + 1), 2 * N / 10 + 1)
    trees = 1.5 * 5 * rounds * nodes * (20 + 4 * K)
    sums = 5 * (64 * D * S * (depth + 2) + 16 * K * S)
    return trees + rows * (D + 5 * 16 + 4 * 5 * K + 2 * (8 * K + 32) + 4 * K + 40 * K) + sums


AODE, A2DE, CELLS = categorical(po.AODE(1)), categorical(po.A2DE(1)), D * (S + 1)
SAID = sum(len(text.split()) for text in TEXT.sample(50, random_state=0)[0]["t"])
TREES = grow_trees(CODES, Y, K, None, tried=4, drawn=True, seeds=np.arange(2, dtype=np.uint64))
HELD = TREES.column, TREES.child, TREES.cut, TREES.counts, TREES.bits
TREE = 1.1 * sum(held.nbytes for held in HELD)  # two trees: one, twice while it is joined to others
MEMBER = 2 * D * S + D * 4 * 13**3 * K

ANSWERS, CURVES = po.NaiveBayes(density="gaussian").fit(X, Y), po.NaiveBayes(density="kernel").fit(X + 0.5, Y)
CHOICE, NEAREST = po.NaiveBayes().fit(X + 0.5, Y), po.KNeighborsClassifier().fit(X, Y)
MIXTURE, MACHINES = po.GaussianMixture(2, covariance_type="diag").fit(X), po.SVC(probability=True).fit(X, Y)
POINTS = OnPoints(GaussianNB()).fit(WORDS, Y)

CASES = {  # what is called, and the bytes that it needs
    "exact, bic": (lambda: po.learn_structure(WIDE, method="exact", score="bic"), 8 * (2**13 * 3 + N + 1)),
    "exact, k2": (lambda: po.learn_structure(WIDE, method="exact", score="k2"), 8 * (2**13 * 4 + 2 * (N + 1))),
    "exact, bdeu": (lambda: po.learn_structure(WIDE, method="exact", score="bdeu"), 8 * (2**13 * 3 + (N + 1) * 14)),
    "climb": (lambda: po.learn_structure(WORDS), 600 * D**2 + SCORED),
    "mmhc": (lambda: po.learn_structure(WORDS, method="mmhc"), 600 * D**2 + SCORED),
    "pc": (lambda: po.learn_structure(WORDS, method="pc"), 200 * D**2 + SCORED),
    "tree of columns": (lambda: po.learn_structure(WORDS, method="chow-liu"), 150 * D**2 + SCORED),
    "along an order": (lambda: po.learn_structure(WORDS, method="k2", order=[*WORDS]), 50 * D**2 + SCORED),
    "fnml": (lambda: po.learn_structure(WORDS, "fnml"), 600 * D**2 + SCORED + 8 * N),
    "SPODE": (lambda: categorical(po.SPODE()), 2 * 8 * (D * S) ** 2 * ROOM),
    "AODE": (lambda: asked(AODE), 8 * (D * S) ** 2 * (ROOM + 8 * K)),
    "A2DE": (lambda: asked(A2DE), 8 * PAIRS * S**2 * D * S * ROOM),
    "weights of values": (lambda: categorical(po.DiscriminativeNB()), 8 * K * (8 * N + 40 * CELLS + 3 * CELLS**2)),
    "weights of numbers": (
        lambda: po.DiscriminativeNB(kinds="numeric", cuts="quantile", bins=S).fit(X, Y),
        8 * (K * (8 * N + 40 * (CELLS + D) + 3 * (CELLS + D) ** 2) + 2 * N * D),
    ),
    "texts": (lambda: TEXT.sample(50, random_state=0), 32 * SAID),
    "CategoricalNB": (lambda: po.CategoricalNB().fit(X, Y), 16 * D * S),
    "categories by classes": (lambda: po.CategoricalNB().fit(MANY[:, None], MANY), 3 * 8 * 1100 * 1100),
    "bits by classes": (
        lambda: po.BernoulliNB(binarize=None).fit(np.tile(MANY[:, None] % 2, 600).astype(bool), MANY),
        3 * 8 * 2 * 600 * 1100,
    ),
    "many values": (lambda: po.NaiveBayes(kinds="categorical").fit(MANY[:, None], MANY % 1000), 2 * 8 * 1101 * 1000),
    "pairs": (lambda: count_pairs(X.astype(np.uint8), [S] * D, Y.astype(np.uint8), K), 8 * PAIRS * S**2 * K),
    "co-moments": (comoments, 24 * S**2 * K * 2**2),
    "risk": (lambda: exact_risk(network(), 0, 1 - np.eye(3)), 16 * 3 * 4 * 2),
    "a node's table": (lambda: refuse_table("c", "ab", {"a": "012", "b": "0123", "c": "01"}), 24 * 3 * 4 * 2),
    "normals": (
        lambda: normals().local(["x", "y"], {"u": np.zeros(7, int)}, {"x": np.zeros(7)}),
        7 * 8 * 3 * (4 * 2**2 + 8 * 2),
    ),
    "sparse": (lambda: numbers(open_frame(SPARSE), range(D)), N * D * (8 + 4)),
    "k-means": (lambda: po.KMeans(2, n_init=1, max_iter=2).fit(SPARSE), 8 * N * D),
    "tree": (lambda: po.BayesTree(n_jobs=1).fit(X, Y), 3 * 16 * N * K),
    "trees of folds": (lambda: po.BayesTree(n_jobs=4).fit(X, Y), 6 * 16 * N * K),
    "codes": (lambda: po.BayesTree(n_jobs=1).fit(np.tile(X, 15), Y), 4 * N * 15 * D),
    "rounds": (
        lambda: grow_rounds(CODES, Y, K, None, np.random.default_rng(0), how=Boosting(depth=2, rounds=3, least=10)),
        boosted(N, 3, 2),
    ),
    "forest": (lambda: po.BayesForest(2, n_members=2)._refuse_large(CODES, Y, K, None), 2 * (TREE + MEMBER) + 40 * N * K),
    "trees of a pool": (lambda: Growing._trees(growing(n_trees=7), Draws(), 0), 7 * TREE + 40 * N * K),
    "members of a pool": (lambda: Growing._members(growing(n_members=2), Draws(), 0), 2 * MEMBER),
    "lines of a pool": (lambda: Growing._refuse_work(growing(), 10), 8 * (40 * N + 600 * K + 4 * N * K)),
    "members": (opened, 12 * MEMBERS.room),
    "posteriors": (lambda: asked(ANSWERS), 16 * N * K),
    "neighbours": (lambda: NEAREST.predict_proba(X), 16 * N * K),
    "components": (lambda: MIXTURE.predict(X), 16 * N * 2),
    "points": (lambda: POINTS.predict_proba(X), 16 * N * K),
    "pairs of machines": (lambda: MACHINES.predict_proba(X), 24 * N * K * K),
    "risks": (lambda: po.risk(np.full((N, K), 1 / K)), 8 * N * K),
    "covariances": (lambda: po.GaussianBayes().fit(X, Y), 56 * K * D**2),
    "mixture": (lambda: po.GaussianMixture(3, random_state=0).fit(X + 0.1), 128 * 3 * D**2),
    "histograms": (lambda: _refuse_histograms(X + 0.5, K, 100, 1), 24 * D * S * K),
    "curves": (lambda: one(CURVES), 40 * D * S * K),
    "the choice of densities": (lambda: one(CHOICE), 9 * 5 * D * np.count_nonzero(CHOICE.statistics_.sample.table) * K),
}  # fmt: skip


def limited(monkeypatch, limit):
    monkeypatch.setattr(budget, "_half_of_the_machine", lambda: float(limit))


@pytest.mark.parametrize("name", CASES)
def test_refused_with_a_byte_less(name, monkeypatch):
    call, needed = CASES[name]
    limited(monkeypatch, np.ceil(needed))
    with suppress(Begun):
        call()
    limited(monkeypatch, np.ceil(needed) - 1)
    with pytest.raises((MemoryBudgetError, BadValue, NotMade), match=r"over|does not fit"):
        call()


@pytest.mark.parametrize("name", ["AODE", "A2DE", "many values", "pairs", "sparse", "k-means"])
def test_what_is_told_is_what_is_taken(name):
    call, needed = CASES[name]
    call()
    tracemalloc.start()
    try:
        call()
        assert needed / 2 < tracemalloc.get_traced_memory()[1] < 2.5 * needed
    finally:
        tracemalloc.stop()
