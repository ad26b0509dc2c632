"""The profile of latent classes as a drawing."""

from __future__ import annotations

import pandas as pd

from posteriori.report.profiles import _rows


def test_a_mean_far_below_its_spread_is_none():
    table = pd.DataFrame([[3e-102, 0.2], [0.05, 0.1]], index=["mean", "sd"])
    ((label, cells),) = _rows(table)
    assert label == "mean ± sd"
    assert [text for *_, text in cells] == ["0 ± 0.05", "0.2 ± 0.1"]
    assert all(0 <= a < b <= 1 for a, b, _ in cells)
