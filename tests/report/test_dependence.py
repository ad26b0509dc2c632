"""The picture of a dependence graph: only the class stands out, edges weigh what they say, ends lie on the boxes."""

from __future__ import annotations

import numpy as np
import pytest
from defusedxml import ElementTree

import posteriori as po
from posteriori.report.dependence import dependence_svg

SVG = "{http://www.w3.org/2000/svg}"


def nodes(drawing: str) -> dict[str, dict[str, str]]:
    found = {}
    for group in ElementTree.fromstring(drawing).iter(f"{SVG}g"):
        if group.get("class") == "node":
            found[group.find(f"{SVG}title").text] = group.find(f"{SVG}rect").attrib
    return found


@pytest.mark.parametrize("model", [po.TAN(), po.AODE(min_frequency=1), po.KDB(k=2)], ids=["TAN", "AODE", "KDB"])
def test_only_the_class_has_a_strong_border(model) -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 3, 90) for name in "abcd"}
    drawing = dependence_svg(model.set_params(kinds="categorical").fit(X, rng.integers(0, 2, 90)))
    width = {name: float(box["stroke-width"]) for name, box in nodes(drawing).items()}
    assert set(width) == {"class", *"abcd"}
    assert all(width["class"] > width[name] for name in "abcd")
