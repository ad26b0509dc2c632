"""Structures beside each other: every arrow once, in the colour of its kind, and the kinds that there are in the key."""

from __future__ import annotations

import pytest

import posteriori as po
from posteriori.report import structures
from posteriori.report.structures import STYLES, comparison_drawing


def drawn(monkeypatch, draw):
    said = []
    monkeypatch.setattr(structures, "draw_graph", lambda *told, **more: (said.append((told, more)), "")[1])
    draw()
    return said[0]


@pytest.mark.parametrize(
    ("true", "found", "kinds"),
    [
        ([("a", "b"), ("b", "c")], [("a", "b"), ("c", "b"), ("c", "d")], {"right": 1, "turned": 1, "extra": 1}),
        ([("a", "b"), ("b", "c")], [("a", "b")], {"right": 1, "missing": 1}),
        ([("a", "b")], [("a", "b")], {"right": 1}),
    ],
)
def test_every_arrow_has_the_colour_of_its_kind(monkeypatch, true, found, kinds):
    comparison = po.compare_structures(po.Dag("abcd", found), po.Dag("abcd", true))
    (nodes, edges), more = drawn(monkeypatch, lambda: comparison_drawing(comparison))
    assert list(nodes) == list("abcd")
    assert len(edges) == len({frozenset(e) for e in edges}) == sum(kinds.values())
    colours = [more["styles"][edge] for edge in edges]
    assert {kind: colours.count(STYLES[kind]) for kind in kinds} == kinds
    assert more["legend"] == [(f"{n} {kind}", *STYLES[kind]) for kind, n in kinds.items()]
