"""Places for the nodes of a directed graph: layers from top to bottom, few crossings, short edges.

Four steps (after Sugiyama): every node one layer below its lowest parent; an edge over several layers gets a bend in each;
layers ordered by the mean place of the neighbours, keeping the order with the fewest crossings; then x by least squares
towards the neighbours, with room between. An edge passes a layer upright and turns only between layers, where there are no
boxes. Nodes without edges stand in a block below.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

GAP_X, GAP_Y, BEND_WIDTH = 18.0, 46.0, 8.0
LEAST_BLOCK = 480.0  # nodes without edges stand side by side up to this width at least
MOST_SWEEPS = 12
MOST_BENDS = 20_000  # beyond, long edges are drawn straight: a hairball gains nothing from routing

Rows = list[list[int]]


@dataclass(frozen=True)
class Layout:
    """Centres of the nodes, the points each edge passes (ends included), and the size of the whole."""

    centres: tuple[tuple[float, float], ...]
    routes: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def layered(n: int, edges: Sequence[tuple[int, int]], widths: Sequence[float], heights: Sequence[float]) -> Layout:
    """Lay out nodes 0 … n−1 of the given sizes; an edge against the others (a cycle) is allowed and drawn upwards.

    >>> layered(2, [(0, 1)], [40, 40], [20, 20]).centres
    ((20.0, 10.0), (20.0, 76.0))
    """
    joined = sorted({i for edge in edges for i in edge})
    place = {i: k for k, i in enumerate(joined)}
    top = _joined(
        len(joined),
        [(place[a], place[b]) for a, b in edges],
        [widths[i] for i in joined],
        [heights[i] for i in joined],
    )
    alone = [i for i in range(n) if i not in place]
    block = _block([widths[i] for i in alone], [heights[i] for i in alone], max(top.width, LEAST_BLOCK))
    below = top.height + GAP_Y if joined and alone else top.height
    width = max(top.width, block.width)
    centres = [(0.0, 0.0)] * n
    for i, (x, y) in zip(joined, top.centres, strict=True):
        centres[i] = x + (width - top.width) / 2, y
    for i, (x, y) in zip(alone, block.centres, strict=True):
        centres[i] = x + (width - block.width) / 2, y + below
    routes = tuple(tuple((x + (width - top.width) / 2, y) for x, y in route) for route in top.routes)
    return Layout(tuple(centres), routes, width, below + block.height)


def _block(widths: Sequence[float], heights: Sequence[float], wide: float) -> Layout:
    """Boxes side by side in rows no wider than told, or than the square of them all."""
    room = max(wide, (sum((w + GAP_X) * (h + GAP_X) for w, h in zip(widths, heights, strict=True))) ** 0.5)
    rows: Rows = [[]]
    for i, w in enumerate(widths):
        if rows[-1] and sum(widths[j] + GAP_X for j in rows[-1]) + w > room:
            rows.append([])
        rows[-1].append(i)
    centres = [(0.0, 0.0)] * len(widths)
    y = right = 0.0
    for row in rows if widths else []:
        tall, x = max(heights[i] for i in row), 0.0
        for i in row:
            centres[i] = x + widths[i] / 2, y + tall / 2
            x += widths[i] + GAP_X
        y, right = y + tall + GAP_X, max(right, x - GAP_X)
    return Layout(tuple(centres), (), right, max(y - GAP_X, 0.0))


def _joined(n: int, edges: Sequence[tuple[int, int]], widths: Sequence[float], heights: Sequence[float]) -> Layout:
    """Nodes that all have edges."""
    if n == 0:
        return Layout((), (), 0.0, 0.0)
    layer = _layers(n, edges)
    chains, bend_layer = _bends(edges, layer, n)
    layer += bend_layer
    total = len(layer)
    above: Rows = [[] for _ in range(total)]
    below: Rows = [[] for _ in range(total)]
    for chain in chains:
        for a, b in itertools.pairwise(chain):
            top, bottom = (a, b) if layer[a] < layer[b] else (b, a)
            below[top].append(bottom)
            above[bottom].append(top)
    rows = _ordered(layer, above, below)
    wide = [*widths, *[BEND_WIDTH] * (total - n)]
    x = _abscissas(rows, above, below, wide)
    left = min(x[i] - wide[i] / 2 for i in range(total))
    tall = [max([heights[i] for i in row if i < n], default=0.0) for row in rows]
    tops = [0.0]
    for h in tall:
        tops.append(tops[-1] + h + GAP_Y)
    centres = [(x[i] - left, tops[layer[i]] + tall[layer[i]] / 2) for i in range(n)]

    def route(chain: list[int]) -> tuple[tuple[float, float], ...]:
        """From centre to centre, through every layer upright."""
        down = layer[chain[-1]] >= layer[chain[0]]
        points = []
        for i in chain:
            band = (tops[layer[i]], tops[layer[i]] + tall[layer[i]])
            points += [(x[i] - left, y) for y in (band if down else band[::-1])]
        if layer[chain[0]] == layer[chain[-1]]:
            return centres[chain[0]], centres[chain[-1]]
        return centres[chain[0]], *points[1:-1], centres[chain[-1]]

    return Layout(
        tuple(centres),
        tuple(map(route, chains)),
        max(x[i] + wide[i] / 2 for i in range(total)) - left,
        tops[-1] - GAP_Y,
    )


def _layers(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """One below the lowest parent; then a node without parents moves down to just above its highest child."""
    parents: Rows = [[] for _ in range(n)]
    children: Rows = [[] for _ in range(n)]
    for a, b in edges:
        if a != b:
            children[a].append(b)
            parents[b].append(a)
    waiting = [len(p) for p in parents]
    ready = deque(i for i in range(n) if waiting[i] == 0)
    layer, done = [0] * n, [False] * n
    left = iter(range(n))
    for _ in range(n):
        # where only cycles are left, the first node of one goes ahead
        node = ready.popleft() if ready else next(i for i in left if not done[i])
        done[node] = True
        for child in children[node]:
            waiting[child] -= 1
            if not done[child]:
                layer[child] = max(layer[child], layer[node] + 1)
                if waiting[child] == 0:
                    ready.append(child)
    for node in range(n):
        if not parents[node] and children[node]:
            layer[node] = max(layer[node], min(layer[c] for c in children[node]) - 1)
    return layer


def _bends(edges: Sequence[tuple[int, int]], layer: list[int], n: int) -> tuple[Rows, list[int]]:
    """Each edge as a chain of nodes in neighbouring layers, and the layers of the bends added for it."""
    chains: Rows = []
    bends: list[int] = []
    for a, b in edges:
        step = 1 if layer[b] > layer[a] else -1
        between = list(range(layer[a] + step, layer[b], step)) if layer[a] != layer[b] else []
        if len(bends) + len(between) > MOST_BENDS:
            between = []
        first = n + len(bends)
        chains.append([a, *range(first, first + len(between)), b])
        bends += between
    return chains, bends


def _ordered(layer: list[int], above: Rows, below: Rows) -> Rows:
    """Sweep down and up, each layer sorted by the mean place of its neighbours; the best sweep wins."""
    rows: Rows = [[] for _ in range(max(layer) + 1)]
    for node, depth in enumerate(layer):
        rows[depth].append(node)
    place = [0.0] * len(layer)

    def settle(row: list[int]) -> None:
        for i, node in enumerate(row):
            place[node] = float(i)

    for row in rows:
        settle(row)
    best, fewest = [list(r) for r in rows], _crossings(rows, below, place)
    for sweep in range(MOST_SWEEPS):
        if fewest == 0:
            break
        downwards = sweep % 2 == 0
        for row in rows if downwards else rows[::-1]:
            near = above if downwards else below
            mean = {v: sum(place[u] for u in near[v]) / len(near[v]) if near[v] else place[v] for v in row}
            row.sort(key=mean.__getitem__)
            settle(row)
        crossings = _crossings(rows, below, place)
        if crossings < fewest:
            best, fewest = [list(r) for r in rows], crossings
    return best


def _crossings(rows: Rows, below: Rows, place: list[float]) -> int:
    """Pairs of edges between neighbouring layers that cross."""
    total = 0
    for row in rows:
        seen: list[float] = []
        for node in row:
            ends = [place[v] for v in below[node]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _abscissas(rows: Rows, above: Rows, below: Rows, widths: Sequence[float]) -> list[float]:
    """x of every node: each layer in turn goes as near to its neighbours' mean as order and room allow."""
    x = [0.0] * len(widths)
    for row in rows:
        at = 0.0
        for node in row:
            x[node] = at + widths[node] / 2
            at += widths[node] + GAP_X
        for node in row:
            x[node] -= (at - GAP_X) / 2
    for sweep in range(MOST_SWEEPS):
        near = (above, below)[sweep % 2]
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = [sum(x[u] for u in near[v]) / len(near[v]) if near[v] else x[v] for v in row]
            for node, at in zip(row, spread(wanted, [widths[v] for v in row]), strict=True):
                x[node] = at
    return x


def spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """min Σ (x_i − wanted_i)² with room between neighbours: isotonic regression by pooling.

    >>> spread([0, 0], [10, 10])
    [-14.0, 14.0]
    """
    offsets = [0.0]
    for left, right in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2 + GAP_X)
    blocks: list[tuple[float, int]] = []  # (mean of wanted − offset, how many)
    for want, offset in zip(wanted, offsets, strict=True):
        mean, size = want - offset, 1
        while blocks and blocks[-1][0] >= mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    level = [mean for mean, size in blocks for _ in range(size)]
    return [at + offset for at, offset in zip(level, offsets, strict=True)]
