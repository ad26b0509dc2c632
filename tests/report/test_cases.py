"""Cases of a report: the surest, the least sure, the commonest mistake, by the posterior; bars that add up to its odds."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import posteriori as po
from posteriori.report import cases as shown
from posteriori.report.evidence import gather


def evidence(model=None, with_rows=False, n=60, seed=0, posterior=None):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    X = pd.DataFrame({"a": rng.normal(codes), "b": rng.choice(["u", "v"], n), "c": rng.normal(-codes)})
    y = np.array(["p", "q", "r"])[codes]
    model = po.NaiveBayes(density="gaussian") if model is None else model
    fitted = model.fit(X if not isinstance(model, LogisticRegression) else X[["a", "c"]], y)
    X = X if not isinstance(model, LogisticRegression) else X[["a", "c"]]
    return gather(
        fitted, X, y, fitted.predict_proba(X) if posterior is None else posterior, None, None, with_rows, 3, 0
    )


def test_rows_are_picked_by_the_posterior():
    e = evidence()
    p, y = e.posterior, e.y
    top, sure = p.argmax(axis=1), p.max(axis=1)
    found = shown._picked(e)
    kinds = [key for key, _, _ in found]
    assert kinds == ["typical"] * 3 + ["doubtful", "wrong"]
    for c, (_, (name,), rows) in enumerate(found[:3]):
        right = np.flatnonzero((y == c) & (top == c))
        assert name == e.classes[c]
        assert sorted(sure[rows]) == pytest.approx(sorted(sure[right])[-len(rows) :])
        assert len(rows) == min(5, len(right))
        assert (np.diff(sure[rows]) <= 0).all()
    two = np.sort(p, axis=1)
    gap = two[:, -1] - two[:, -2]
    assert gap[found[3][2]] == pytest.approx(np.sort(gap)[:5])
    _, (said, was), rows = found[4]
    wrong = [(e.classes[t], e.classes[k]) for t, k in zip(top, y) if t != k]
    assert wrong.count((said, was)) == max(map(wrong.count, wrong))
    assert all(e.classes[top[r]] == said and e.classes[y[r]] == was for r in rows)
    assert (np.diff(sure[rows]) <= 0).all()


@pytest.mark.parametrize("rows", [[0], [1, 2, 3]])
def test_reasons_are_the_mean_of_the_model_s_own(rows):
    e = evidence()
    found = shown.explained(e, np.array(rows), 2, 0, change=False)
    log = e.inner.predict_log_proba(e.X.iloc[rows])
    assert found.prior + sum(found.parts.values()) + found.together == pytest.approx((log[:, 2] - log[:, 0]).mean())
    assert list(found.parts) == ["a", "b", "c"]
    alone = shown.explained(e, np.array(rows[:1]), 2, 0, change=True)
    assert alone.parts == pytest.approx(shown.explained(e, np.array(rows[:1]), 2, 0, change=False).parts)
    assert alone.change


@pytest.mark.parametrize("model", [po.AODE(), LogisticRegression()], ids=repr)
def test_models_that_are_no_sum_are_weighed_row_by_row(model):
    e = evidence(model)
    found = shown.explained(e, np.array([0, 1]), 1, 0, change=False)
    floor = -np.inf if isinstance(model, po.AODE) else np.log(1e-3)
    log = np.maximum(np.log(e.inner.predict_proba(e.X.iloc[[0, 1]])), floor)
    assert found.prior + sum(found.parts.values()) + found.together == pytest.approx((log[:, 1] - log[:, 0]).mean())


def test_what_rules_a_class_out_is_held():
    assert [shown._held(v) for v in (np.inf, -np.inf, 3.0, 51.0)] == [50.0, -50.0, 3.0, 50.0]


def bars(text):
    return re.findall(r'class="(for|against)"', text)


def test_cards_of_groups_and_of_rows():
    e = evidence()
    text = shown.cases(e)
    assert text.count("<figure") == 5
    assert "case_row" not in text
    assert "cases_groups" in text
    assert text.count('data-w="case_mean"') == 5
    rows = evidence(with_rows=True)
    told = shown.cases(rows)
    assert 5 <= told.count("<figure") <= 10
    assert "case_mean" not in told
    assert "cases_groups" not in told
    for r, truth, decided in re.findall(
        r'data-w="case_row" data-a="\[&quot;(\d+)&quot;\]".*?data-w="case_told" data-a="\[&quot;(.)&quot;, &quot;(.)&quot;',
        told,
    ):
        assert truth == rows.classes[rows.y[int(r) - 1]]
        assert decided == rows.actions[rows.decided[int(r) - 1]]
    assert re.search(r"b = [uv]", told)
    assert len(bars(text)) == 5 * 4  # the prior and three columns


def test_few_wrong_none_wrong_one_class():
    n = 60
    sure = evidence().y
    right = np.full((n, 3), 0.1)
    right[np.arange(n), sure] = 0.8
    assert 'data-w="no_wrong"' in shown.cases(evidence(posterior=right))
    right[0] = np.roll(right[0], 1)
    few = shown.cases(evidence(posterior=right))
    assert 'data-w="few_wrong"' in few
    assert few.count("<figure") == 4
    both = shown.cases(evidence(posterior=right, with_rows=True))
    assert "few_wrong" not in both
    assert "no_wrong" not in both
    one = po.NaiveBayes().fit({"a": ["u"] * 4}, ["p"] * 4)
    assert shown.cases(gather(one, {"a": ["u"] * 4}, ["p"] * 4, np.ones((4, 1)), None, None, False, 3, 0)) == ""


def test_many_columns_are_summed_up():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = pd.DataFrame({f"x{j}": rng.normal(y * (j + 1) / 12, 1) for j in range(12)})
    model = po.NaiveBayes(density="gaussian").fit(X, y)
    e = gather(model, X, y, None, None, None, False, 3, 0)
    text = shown._card(e, "doubtful", (), np.arange(4))
    assert len(bars(text)) == 1 + 8 + 1
    assert "(+4)" in text
    found = shown.explained(e, np.arange(4), int(e.posterior[:4].mean(axis=0).argmax()), 0, False)
    assert found is not None
    wide = gather(
        LogisticRegression().fit(np.zeros((4, 61)), [0, 1, 0, 1]),
        np.zeros((4, 61)),
        [0, 1, 0, 1],
        np.full((4, 2), 0.5),
        None,
        None,
        False,
        2,
        0,
    )
    assert shown.explained(wide, np.array([0]), 0, 1, False) is None  # too many columns to be averaged over one by one
    assert shown.cell(evidence(), 0, 1) in ("u", "v")
