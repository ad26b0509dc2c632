"""A pool's answer is what its parts say, each as it is asked, in blocks of any size."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from posteriori.forest import pooled as room
from posteriori.forest.pool import pooled
from posteriori.forest.pooled import Pool, PoolPart
from posteriori.margin.landmarks import Landmarks

RNG = np.random.default_rng(0)
N, K = 7, 3
SAID = {name: RNG.dirichlet(np.ones(K), N) for name in ("trees", "members", "boosted", "linear", "kernel")}
Z = RNG.normal(size=(N, 2))
MARKS = Landmarks(RNG.normal(size=(4, 2)), 2.0)


class Grown:
    """Trees, or members: sums over so many, of rows that are codes."""

    def __init__(self, name, count):
        self.name, self.count = name, count

    def __len__(self):
        return self.count

    def sums(self, codes, *more, n_jobs):
        assert more == ((0.25,) if self.name == "trees" else ())
        return SAID[self.name] * self.count, None


def linear(name):
    """A model of points, or of their nearness to landmarks: it knows its rows again."""

    def posterior(at):
        rows = MARKS(Z) if name == "kernel" else Z
        return np.array([SAID[name][int(np.abs(rows - one).sum(axis=1).argmin())] for one in at])

    return SimpleNamespace(posterior=posterior)


class Points:
    size = 2

    def __init__(self):
        self.asked = []

    def __call__(self, frame, codes, rows):
        self.asked.append(None if rows is None else rows.tolist())
        return Z if rows is None else Z[rows]


PARTS = {
    "trees": {"trees": Grown("trees", 5), "concentration": 0.25}, "members": {"members": Grown("members", 3)},
    "boosted": {"rounds": SimpleNamespace(posterior=lambda codes, n_jobs: SAID["boosted"])},
    "linear": {"linear": linear("linear")}, "kernel": {"landmarks": MARKS, "curved": linear("kernel")},
}  # fmt: skip


@pytest.mark.parametrize(("block", "asked"), [
    (1 << 20, [None]), (4 * 7, [None]), (4 * 6, [[0, 1, 2, 3, 4, 5], [6]]), (4 * 3, [[0, 1, 2], [3, 4, 5], [6]]),
    (1, [[i] for i in range(7)]),
])  # fmt: skip
def test_all_parts_in_blocks_of_as_many_rows_as_the_widest_table_allows(monkeypatch, block, asked):
    """Four landmarks are more than two coordinates."""
    monkeypatch.setattr(room, "BLOCK", block)
    names, u, prior = tuple(PARTS), np.array([0.5, 0.2, 1.0, 0.7, 0.4, -0.3]), np.array([0.2, 0.3, 0.5])
    points, given = Points(), {key: value for part in PARTS.values() for key, value in part.items()}
    pool = Pool(None, None, names, prior, u, 0.1, points=points, **given)
    found = pool.posterior(None, SimpleNamespace(n=N), 1)
    assert found == pytest.approx(pooled([SAID[name] for name in names], prior, u, 1, 0.1))
    assert points.asked == asked


@pytest.mark.parametrize("name", PARTS)
def test_one_part_alone(name):
    points = {"points": Points()} if name in ("linear", "kernel") else {}
    pool = Pool(None, None, (name,), np.full(K, 1 / K), np.array([1.0, 0.0]), 0.0, **PARTS[name], **points)
    assert pool.posterior(None, SimpleNamespace(n=N), 1) == pytest.approx(SAID[name])


def test_a_row_of_the_table_has_no_note_unless_it_was_left_out():
    assert PoolPart("trees", 0.5, 1.0, 2.0).note == ""
    coding = SimpleNamespace(cuts=("cut",))
    assert Pool(coding, None, (), np.ones(1), np.ones(1), 0.0).cuts == ("cut",)
