"""No arguments make a kernel read or write outside an array, though no caller passes such: an exception, never a crash.

Every function that the compiled module binds is called once as its Python wrapper calls it, and then again and again with
one argument spoilt: an array cut short, emptied, lengthened or filled with numbers that point elsewhere, a number out of
its range. This runs in a process of its own, which has to end well; under `make sanitize` a read past the end ends it too.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from posteriori import kernels
from posteriori.kernels import margin, mixture, native, neighbors, trees
from posteriori.statistics.counts import starts_of

CLASSES = ("JunctionPlan", "JunctionState", "NumericColumns", "Curves")
Calls = dict[str, tuple[Callable[..., Any], dict[int | str, Any]]]  # arguments by place or name


class Recorder:
    """Stands for the compiled module and keeps, for each kind of call, the function and a copy of its arguments."""

    def __init__(self, calls: Calls, target: Any, prefix: str = "") -> None:
        self.calls, self.target, self.prefix = calls, target, prefix

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.target, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            args = tuple(a.target if isinstance(a, Recorder) else a for a in args)
            told = {**dict(enumerate(args)), **named}
            arrays = (getattr(a, "cells", a) for a in told.values())  # of coded rows their cells
            kinds = "".join(a.dtype.char for a in arrays if isinstance(a, np.ndarray))
            self.calls.setdefault(f"{self.prefix}{name} {kinds} {' '.join(named)}", (found, own(told)))
            made = found(*args, **named)
            return Recorder(self.calls, made, f"{name}.") if name in CLASSES else made

        return call


def own(arguments: dict[int | str, Any]) -> dict[int | str, Any]:
    return {name: a.copy() if isinstance(a, np.ndarray) else a for name, a in arguments.items()}


def called(call: Callable[..., Any], arguments: dict[int | str, Any]) -> Any:
    named = {name: a for name, a in arguments.items() if isinstance(name, str)}
    return call(*(a for name, a in arguments.items() if isinstance(name, int)), **named)


def valid_calls() -> Calls:
    """One call of every bound function."""
    calls: Calls = {}
    recorder = Recorder(calls, native)
    bound = {name: found for name, found in vars(native).items() if callable(found) and not name.startswith("_")}
    vars(kernels).update({name: getattr(recorder, name) for name in bound})
    rng = np.random.default_rng(0)
    for kind in (np.uint8, np.uint16):
        _naive(rng, kind)
        _trees(rng, kind)
    for kind in (np.float64, np.float32):
        _neighbors(rng, kind)
        _margin(rng, kind)
        _mixture(rng, kind)
    _network(rng)
    vars(kernels).update(bound)
    return calls


def _naive(rng: np.random.Generator, codes: type) -> None:
    n, K = 21, 3
    X, y = rng.integers(0, 2, (n, 4)).astype(codes), rng.integers(0, K, n).astype(codes)
    offsets, weights, start = np.arange(0, 9, 2), rng.random(n), np.zeros(K)
    theta = rng.random((8, K))
    for columns in (X, list(X.T)):
        kernels.count_cells(columns, y, offsets, K)
        kernels.count_cells(columns, y, offsets, K, weights)
        kernels.count_cells(columns, y, offsets, K, np.ones((n, K)))
        kernels.count_families(columns, [2] * 4, [(0, 1), (2,), (3, 1, 0)])
        kernels.log_joint_cells(columns, theta, offsets, start)
        kernels.posterior_cells(columns, theta, offsets, np.zeros((n, K)))
    bytes_ = rng.integers(0, 2, (300, 18)).astype(np.uint8)  # many enough for the ways of their own that bytes have
    for columns in (bytes_, list(np.ascontiguousarray(bytes_.T))):
        kernels.count_cells(columns, np.zeros(300, codes), np.arange(0, 37, 2), K)
        kernels.posterior_cells(columns, rng.random((36, K)), np.arange(0, 37, 2), start)
    for number in ("f8", "f4", "i8", "i4"):
        kernels.narrow(X.astype(number))
    kernels.normalise(rng.random((n, K)))
    kernels.share_out(rng.random((n, K)), y.astype(np.int32), weights)
    kernels.posterior(rng.random((n, K)))
    for numbers in (rng.random((n, 3)), rng.random((n, 3)).astype(np.float32), np.asfortranarray(X[:, :3])):
        kernels.class_moments(numbers, y, K, weights)
        kernels.class_moments(numbers, y, K, np.ones((n, K)))
        kernels.score_gaussian(numbers, np.zeros((K, 3)), np.ones((K, 3)), start, True)
    _densities(rng, y, weights)
    centres = np.sort(rng.random(70))
    kernels.log_kernel_sums(start, centres, centres, 0.1, kernels.kernel_tree(centres, centres, 0.1))
    S = sp.random(n, 5, 0.4, "csr", rng=1)
    for index in (np.int32, np.int64):
        for value in (np.float64, np.float32, np.int64, np.int32, np.uint8):
            stored = S.indptr.astype(index), S.indices.astype(index), S.data.astype(value)
            kernels.count_sparse(*stored, 5, y, K, weights)
            kernels.score_sparse(*stored, rng.random((5, K)), start, np.zeros(K), None, True)
    for counts in (theta, rng.integers(0, 9, (8, K))):
        kernels.log_counts(counts, offsets, np.ones(1), np.zeros((4, K)), others=True, less=np.ones((8, K)))
        kernels.log_counts(counts, offsets, np.ones(8), np.zeros((4, K)), by_class=np.full(K, 9.0))
    kernels.column_sums(theta)
    kernels.padded(3)
    kernels.refuse_large(3, 3, 3)
    kernels.parent_table(2, 5, 3)
    for label in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        kernels.encode_integers(np.array([3, 5, 3, 7], dtype=label))
    kernels.encode_integers(np.array([3, 900]))
    for way in ("auto", "bitmaps", "scalar"):
        kernels.count_pairs(X, [2] * 4, y, K, way=way)
    kernels.count_pairs(X, [2] * 4, y, K, weights)
    kernels.count_pairs(X, [2] * 4, y, K, np.ones((n, K)))
    codes = np.ascontiguousarray(X.T)
    bits, logs = kernels.value_bitmaps(codes, [2] * 4), np.zeros(n + 1)
    for given in ({"weights": weights}, {"bits": bits, "x_log_x": logs, "regret": logs}):
        kind = "bdeu" if "weights" in given else "fnml"
        kernels.toggle_scores(codes, [2] * 4, 0, [1], [1, 2, 3], kind, 1.0, **given)
    kernels.g_tests(codes, [2] * 4, 0, [1], [2, 3], weights, x_log_x=logs)
    kernels.g_tests(codes, [2] * 4, 0, [1], [2, 3], bits=bits, x_log_x=logs)
    none = np.zeros((4, 4), bool)
    rules: dict[str, Any] = {"required": none, "forbidden": none, "most": 2, "least": 0.0, "symmetric": False}
    kernels.climb(codes, [2] * 4, [[], [0], [], []], "penalised", 1.0, weights, tabu=2, restarts=1, orders=2, **rules)
    kernels.climb(codes, [2] * 4, [[]] * 4, "fnml", 1.0, bits=bits, x_log_x=logs, regrets=[logs] * 4, **rules)
    kernels.climb_asking(lambda v, some, more: [0.0] * (len(more) + 1), [[], [0], [], []], **rules)
    rows, tables, free = np.ones(n, np.uint32), np.stack([logs, logs]), [0] * 4
    for price in (0.0, 1.0):
        kernels.best_network(
            codes.astype(np.uint16), [2] * 4, rows, tables, [0, 1, 0, 1], 0.0, price, 2, 0.0, free, free
        )
    for w in (None, weights):
        kernels.ladder_losses(list(X.T), [2] * 4, [([1], [0]), ([0, 1], [2, 4])], theta, start, y, 1, True, w)
    table = rng.random((8, 8, kernels.padded(K)))
    scopes = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]], np.int32)
    for counts in (rng.integers(0, 9, (32, K)), rng.random((32, K))):
        for named in (None, np.tile(np.arange(8), 4)):
            kernels.pair_tables(scopes, np.arange(0, 33, 8), named, counts, [2] * 4, np.arange(0, 24, 3), 1.0)
    cells = (X + np.arange(0, 8, 2)).astype(np.int32)
    first = np.arange(0, 9, 2, dtype=np.int32)
    kernels.sum_of_products(cells, cells, table, K)
    for totals in (None, rng.random((8, 4, kernels.padded(K)))):
        for w in (None, weights):
            kernels.leave_one_out(
                cells, first, y.astype(np.int32), table, table, totals, np.ones(K) / K, np.ones(n) / K, w
            )


def _densities(rng: np.random.Generator, y: np.ndarray, weights: np.ndarray) -> None:
    n, K = len(y), 3
    X = np.round(rng.random((n, 2)), 1)
    found = kernels.histograms(X, y, K, 50, weights)
    kernels.histograms(X.astype(np.float32), y, K, 3)
    kernels.add_hashes(X, np.zeros(2, np.uint64), np.zeros(n, np.uint64))
    tables = [table for _, table, _, _ in found]
    values = [np.sort(np.unique(column)) for column in X.T]
    ends = np.cumsum([0, *map(len, values)])
    flat, table, exact = np.concatenate(values), np.concatenate(tables), np.ones(2, np.uint8)
    kernels.mdl_cuts(table)
    kernels.greedy_cuts(np.arange(9.0), 4)
    for many in (3, 300):
        kernels.bin_codes(np.arange(9.0), np.arange(float(many)))
    moments = np.dstack(kernels.class_moments(X, y, K, weights)[:3]).transpose(1, 0, 2).copy()
    columns = kernels.NumericColumns(flat, flat, table, ends, exact, moments, 1.0, 0.01, 0.0)
    share = np.full((n, K), -1.0)
    parts = columns.left_out(X.T.copy(), y, weights, np.zeros(n), share, 10.0, 700.0)
    kernels.search_densities(share, parts, y, weights, np.ones(5), 0, 3, 0.5, 700.0, 2)
    curves = kernels.Curves(columns, ["mixed", "binned"], share[0].copy(), 10)
    curves.score(X, np.arange(2), np.zeros(K))
    curves.parts(X, np.arange(2))
    curves.pieces(0)
    curves.kernels(0)
    curves.information(np.full(K, 1 / K))
    kernels.normal_information(np.zeros((K, 2)), np.ones((K, 2)), np.full(K, 1 / K))


def _neighbors(rng: np.random.Generator, kind: type) -> None:
    X, Q = rng.random((90, 3)).astype(kind), rng.random((5, 3)).astype(kind)
    skip = np.arange(5, dtype=np.int32)
    lo, hi, _ = kernels.column_bounds(X)
    flat = kernels.kdtree_build(X, 1.0, 8)
    for metric in ("euclidean", "manhattan", "chebyshev", "minkowski"):
        kernels.kdtree_nearest(flat, 8, Q, 3, metric, 3.0, skip)
        kernels.kdtree_within(flat, 8, Q, np.full(5, 0.3, dtype=kind), metric, 3.0)
        kernels.kdtree_count(flat, 8, Q, np.full(5, 0.3, dtype=kind), metric, 3.0)
    kernels.brute_nearest(X, kernels.brute_panel(X, lo, hi), Q, 3, skip)


def _mixture(rng: np.random.Generator, kind: type) -> None:
    n, d, K = 21, 5, 3
    X, means, weights = rng.random((n, d)).astype(kind), rng.random((K, d)), rng.random(n)
    for factors in (rng.random((K, d)), np.array([np.eye(d)] * K)):
        theta = (np.ones(d), means, factors, np.zeros(K))
        kernels.mixture_log_joint(X, *theta)
        kernels.mixture_sums(X, weights, *theta, means, rng.random((n, K)))
    Z, sigma = X.astype(float), np.array([np.eye(d)] * K)
    Z[:9, 1], Z[9:, 2:4] = np.nan, np.nan
    starts = np.array([0, 9, n])
    kernels.broken_log_joint(Z, starts, means, sigma, np.zeros(K), np.zeros(d))
    kernels.broken_sums(Z, starts, weights, means, sigma, np.zeros(K), np.zeros(d), means, rng.random((n, K)))
    rows = mixture.Nearest(X, weights, np.zeros(d), 1.0, None, bounded=True, kept=True)
    rows.step(means)
    rows.step(means)
    kernels.kmeans_distances(X, np.zeros(d), means, rows.label)
    kernels.kmeans_candidates(X, np.zeros(d), np.arange(2), weights)


def _margin(rng: np.random.Generator, kind: type) -> None:
    n, d = 19, 3
    X = rng.random((n, d)).astype(kind)
    packed = margin.pack(X)
    a, norms, slot = X[:7].copy(), packed.norms[:7].copy(), np.arange(7)
    for name in margin.KINDS:
        spec = margin.KernelSpec(name, 0.5, 1.0, 2)
        kernels.kernel_rows(spec, a, norms, packed, np.zeros((8, n), kind), slot)
        kernels.kernel_sums(spec, a, norms, packed, rng.random((2, n)))
        kernels.kernel_square(spec, packed, margin.square(n, kind))
    K = margin.square(n, kind)
    K[:, :n] = X @ X.T + np.eye(n, dtype=kind)
    kernels.smo_block(K, -np.ones(n), np.ones(n), np.zeros(n), rng.normal(size=n), 1e-3, 100)
    kernels.subtract_rows(K, slot, rng.random(7), np.zeros(n))
    own, p = np.concatenate([np.arange(n), np.arange(4, 12)]), rng.normal(size=n + 8)
    some = margin.Machines(np.array([0, n, n + 8]), own, p, -np.ones(n + 8), np.ones(n + 8))
    kernels.smo_machines(K, some, 1e-3, 100)
    kernels.merge_rows(X.astype(float), rng.integers(0, 2, n).astype(float), np.ones(n), rng.random((2, d)))
    kernels.pair_votes(rng.normal(size=(n, 3)), 3)
    for rows in (X.astype(float), sp.csr_array(X.astype(float))):
        if not isinstance(rows, np.ndarray):
            rows.indptr, rows.indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        y = np.where(X[:, 0] > 0.5, 1.0, -1.0)
        state = margin.Descent(y, np.ones(n), np.zeros(n), np.ones(n), 1.0, np.zeros(n), np.zeros(d + 1), np.arange(n))
        kernels.descend(rows, state, margin.Epoch(n), 3)
        kernels.free_move(rows, state, np.arange(0, n, 2), 5)
        kernels.row_dots(rows, np.ones(d + 1), 1.0)
        kernels.row_sums(rows, np.ones(n), 1.0)
        kernels.row_sums(rows, np.ones(n), 1.0, np.ones(d + 1))
        kernels.row_squares(rows, np.ones(n), 1.0)
        state = (np.zeros(d + 1), np.ones(d + 1), np.ones(d + 1))
        kernels.conjugate(rows, np.ones(n), 1.0, np.ones(d + 1), state, 1e-3, 2)
    kernels.squared_hinge(np.ones(n), np.ones(n), np.ones(n), 0.5)
    for C in (1, 3):
        folds, wide = [np.arange(9), np.arange(4, n)], np.ones(d + 1)
        metric, B, classes = np.ones((C, d + 1)), np.zeros((2, C, d + 1)), rng.integers(0, 2, n)
        kernels.ridge_folds(X.astype(float), classes, np.ones(n), folds, np.zeros(C), wide, metric, B, 3, 1e-9, 1)
    by_column = sp.csc_array(X.astype(float))
    squares = (X.astype(float) ** 2).sum(axis=1)
    columns = margin.SparseColumns(
        by_column.indptr.astype(np.int64), by_column.indices.astype(np.int32), by_column.data, squares
    )
    some = sp.csr_array(X[:7].astype(float))
    some.indptr, some.indices = some.indptr.astype(np.int64), some.indices.astype(np.int32)
    spec = margin.KernelSpec("rbf", 0.5, 1.0, 2)
    kernels.sparse_kernel_rows(spec, some, squares[:7].copy(), columns, np.zeros((8, n), kind), slot)


def _trees(rng: np.random.Generator, kind: type) -> None:
    sizes = (3, 2, 5)
    codes = trees.Codes(np.array([rng.integers(0, s, 12) for s in sizes]).astype(kind), sizes, (True, False, True))
    y, weights, seeds = rng.integers(0, 2, 12).astype(np.uint32), np.ones(12), np.arange(3, dtype=np.uint64)
    for bagged in (None, seeds):
        grown = kernels.grow_trees(codes, y, 2, weights, seeds=bagged, tried=2, drawn=True)
        bags = kernels.draw_bags(12, weights, seeds[: len(grown)])
        kernels.tree_leaves(grown, codes)
        kernels.forest_sums(grown, codes, 1.0, bags)
        kernels.forest_truth(grown, codes, y, [0.5, 2.0], bags)
        if bagged is None:
            kernels.path_counts(grown, codes, y, weights)
    counted = kernels.grow_members(codes, [False, True, False], y, 2, weights, seeds, 1000, n_jobs=1)
    counted.sums(codes, kernels.draw_bags(12, weights, seeds, n_jobs=1), n_jobs=1)

    how = trees.Boosting(tried=2, rounds=2, every=1)
    fold, three = (np.arange(12) % 3).astype(np.uint8), (np.arange(12) % 3).astype(np.uint32)
    made = kernels.boost(codes, three, 3, weights, fold, seeds, how, 1)
    kernels.boosted_posterior(made[0], made[2], 3, codes, 1)
    kernels.boost_tree(codes, rng.normal(size=(12, 2)), np.ones((12, 2)), how)


def ints(items: list[Any]) -> np.ndarray:
    return np.array(items, np.int32)


def _network(rng: np.random.Generator) -> None:
    sizes, above = [2, 3, 2], [[], [0], [0, 1]]
    tables = [
        rng.dirichlet(np.ones(s), size=int(np.prod([sizes[p] for p in ps]))).ravel() for s, ps in zip(sizes, above)
    ]
    kernels.elimination_order([[1, 2], [0, 2], [0, 1]], sizes)
    kernels.combine_factors(sizes, [[0], [0, 1], [0, 1, 2]], tables, [False] * 3, [True, False, True], False)
    kernels.sum_out(sizes, [[0], [0, 1], [0, 1, 2]], tables, [False] * 3, [1, 0], 1e9, True)
    plan = kernels.JunctionPlan(sizes, above, np.inf)
    plan.fill(np.concatenate(tables), starts_of(len(t) for t in tables))
    plan.cliques()
    state = kernels.JunctionState(plan)
    state.set(plan, ints([1]), np.array([0.5, 0.2, 0.3]))
    state.change(0, np.array([1.0, 0.0]))
    state.collect()
    state.marginals(np.empty(7))
    state.joint([0, 2], np.empty(4))
    state.most_probable(np.empty(3, np.int32))
    state.sample(np.arange(2, dtype=np.uint64), 8, 1, np.empty((11, 3), np.int32))
    state.reset()
    offsets = starts_of(len(t) for t in tables)
    kernels.junction_expected(plan, ints([[-1, 2, -1], [0, -1, 1]]), np.ones(2), offsets, 1)
    kernels.junction_batch(plan, ints([[-1, 2, -1], [0, -1, 1]]), [2, 0], 1)
    fixed = [-1, -1, 1]
    own = [((*ps, v), table) for v, (ps, table) in enumerate(zip(above, tables))]
    proposal = [(v, [own[v], ((v,), np.ones(sizes[v]))]) for v in (0, 1)]
    kernels.draw_cases(sizes, fixed, proposal, 1, own, np.arange(1, dtype=np.uint64), 9, 1)
    # node 2 is held in state 1; nodes 0 and 1 are a block each, and node 1 has a likelihood
    factors = [*own, ((1,), np.array([0.5, 0.2, 0.3]))]
    moves = [[0, 0, 0], [1, 3, 6]], [[0, 0, 0], [1, 2, 1], [2, 4, 2]]
    blocks = [
        ([v], touched, np.array(moves[v]), ints([[k] for k in range(sizes[v])]))
        for v, touched in enumerate(([0, 1, 2], [1, 2, 3]))
    ]
    kernels.gibbs_chains(
        sizes,
        fixed,
        factors,
        (proposal, 0.0),
        blocks,
        np.zeros((2, 2), np.int64),
        np.tile(starts_of(len(t) for _, t in factors)[:-1] + [0, 0, 1, 0], (2, 1)),
        np.arange(2, dtype=np.uint64),
        (5, 1, 2, 3, 2),
        1,
        keep=True,
    )


def spoilt(arg: Any) -> Iterator[tuple[str, Any]]:
    """What may be wrong with an argument, each with a name."""
    if isinstance(arg, np.ndarray):
        for axis in range(arg.ndim):
            for cut in (0, arg.shape[axis] - 1):
                if 0 <= cut < arg.shape[axis]:
                    yield f"axis {axis} cut to {cut}", np.ascontiguousarray(np.take(arg, range(cut), axis))
            yield f"axis {axis} one longer", np.concatenate([arg, np.take(arg, [0], axis)], axis) if arg.size else arg
        if arg.dtype.kind in "iu":
            for value in (-1, 10**6, int(np.iinfo(arg.dtype).max)):
                for where in (slice(None), slice(0, 1), slice(-1, None)):
                    wrong = arg.copy()
                    wrong[where] = np.array(value).astype(arg.dtype)
                    yield f"{value} at {where}", wrong
    elif isinstance(arg, tuple):
        for i, part in enumerate(arg):
            for what, wrong in spoilt(part):
                yield f"item {i} {what}", (*arg[:i], wrong, *arg[i + 1 :])
    elif isinstance(arg, list):
        yield "list cut", arg[:-1]
        yield "empty list", []
        if arg and isinstance(arg[0], int):
            yield "items out of range", [10**6] * len(arg)
            yield "items below 0", [-1] * len(arg)
        for what, wrong in spoilt(arg[0]) if arg else ():
            yield f"first item {what}", [wrong, *arg[1:]]
    elif dataclasses.is_dataclass(arg):
        for field in dataclasses.fields(arg):
            for what, wrong in spoilt(getattr(arg, field.name)):
                yield f"{field.name} {what}", dataclasses.replace(arg, **{field.name: wrong})
    elif isinstance(arg, bool):
        yield "not it", not arg
    elif isinstance(arg, int):
        for value in (-1, 0, 10**6):
            yield str(value), value


def run_all() -> None:
    """Every call, then every call with one argument spoilt; names each before it is made, so that a crash has one."""
    raised = 0
    for name, (call, args) in valid_calls().items():
        called(call, own(args))
        last = max((place for place in args if isinstance(place, int)), default=0)
        for place, arg in args.items():
            for what, wrong in spoilt(arg):
                # wrong numbers inside a tree are trusted: it is what `kdtree_build` gave, and its shape is checked
                if name.startswith(("kdtree_n", "kdtree_w", "kdtree_c")) and place == 0 and " at " in what:
                    continue
                if place == "n_jobs" or (place == last and type(arg) is int and arg == 1):
                    continue  # the number of threads
                print(name, place, what, flush=True)
                try:
                    called(call, own({**args, place: wrong}))
                except (ValueError, TypeError, IndexError, MemoryError, OverflowError, RuntimeError):
                    raised += 1
    print("raised", raised)


def test_spoilt_arguments_never_crash() -> None:
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, env={**os.environ, "PYTHONFAULTHANDLER": "1"}
    )
    last = "\n".join(done.stdout.splitlines()[-2:])
    assert done.returncode == 0, f"{last}\n{done.stderr[-3000:]}"
    assert int(last.split()[-1]) > 6000


def test_every_bound_function_is_among_them() -> None:
    called = {name.split()[0] for name in valid_calls()}
    module = native
    bound = {name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")}
    for kind in CLASSES:
        methods = vars(getattr(module, kind))
        bound |= {f"{kind}.{m}" for m, f in methods.items() if callable(f) and not m.startswith("_")}
    assert bound - called == {"supports_avx2", "begin", "member_room", "open_members"} - called


POINTS = np.random.default_rng(0).random((20, 2))
FLAT = neighbors.Flat(*kernels.kdtree_build(POINTS, 1.0, 4))
CODES = np.zeros((3, 2), np.uint8)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: kernels.count_pairs(list(CODES.T), [1, 1], CODES[:, 0], 0), "no class"),
        (lambda: kernels.column_bounds(np.empty((0, 2))), "no points"),
        (lambda: kernels.kdtree_build(np.empty((0, 2)), 1.0, 4), "no points"),
        (lambda: kernels.kdtree_build(POINTS, 1.0, 0), "at least one point"),
        (lambda: kernels.kdtree_nearest(FLAT, 0, POINTS, 1, "euclidean", 2.0), "no tree"),
        (lambda: kernels.kdtree_nearest(FLAT, 4, POINTS[:, :1].copy(), 1, "euclidean", 2.0), "columns"),
        (lambda: kernels.kdtree_nearest(FLAT, 4, POINTS, 0, "euclidean", 2.0), "one neighbour"),
        (lambda: kernels.kdtree_nearest(FLAT, 4, POINTS, 1, "euclidean", 2.0, np.zeros(3, np.int32)), "skip"),
        (lambda: kernels.kdtree_within(FLAT, 4, POINTS, np.ones(3), "euclidean", 2.0), "radius"),
        (
            lambda: kernels.leave_one_out(
                np.empty((2, 0), np.int32), np.zeros(1, np.int32), np.zeros(2, np.int32), np.ones((0, 0, 2)),
                np.ones((0, 0, 2)), None, np.ones(2), np.ones(2),
            ),
            "no column",
        ),
        (lambda: kernels.JunctionState(kernels.JunctionPlan([2], [[]], np.inf)), "no tables"),
    ],
)  # fmt: skip
def test_what_a_guard_says(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_more_neighbours_than_points() -> None:
    """What is not there is infinitely far, whichever list keeps the neighbours."""
    for k in (30, 90):
        distance, _ = kernels.kdtree_nearest(FLAT, 4, POINTS, k, "euclidean", 2.0)
        assert np.isfinite(distance[:, :20]).all()
        assert np.isposinf(distance[:, 20:]).all()


if __name__ == "__main__":
    run_all()
