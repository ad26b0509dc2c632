"""Cases are rows or means of rows, explained; words tell what one occurrence adds, and rare ones are not named."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import posteriori as po
from posteriori.report import cases as shown
from posteriori.report.cases import MOST_TELLING, telling, texts_of, vocabulary, words_of_rows
from posteriori.report.evidence import gather
from posteriori.report.markup import WORDS
from posteriori.report.page import page

from .drawn import Seen


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
    kinds = [title[0] for title, _ in found]
    assert kinds == ["typical"] * 3 + ["doubtful", "wrong"]
    for c, ((_, name), rows) in enumerate(found[:3]):
        right = np.flatnonzero((y == c) & (top == c))
        assert name == e.classes[c]
        assert sorted(sure[rows]) == pytest.approx(sorted(sure[right])[-len(rows) :])
        assert len(rows) == min(5, len(right))
        assert (np.diff(sure[rows]) <= 0).all()
    two = np.sort(p, axis=1)
    gap = two[:, -1] - two[:, -2]
    assert gap[found[3][1]] == pytest.approx(np.sort(gap)[:5])
    (_, said, was), rows = found[4]
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
        r'data-w="case_row" data-a="\[&#34;(\d+)&#34;\]".*?data-w="case_told" data-a="\[&#34;(.)&#34;, &#34;(.)&#34;',
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
    text = shown._card(e, ("doubtful",), np.arange(4))
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


def told(posterior, y, **more):
    """Evidence as far as cases ask."""
    posterior, y = np.array(posterior, dtype=float), np.array(y)
    K = posterior.shape[1]
    known = {"classes": tuple("pqrs"[:K]), "actions": list("pqrs"[:K]), "decided": posterior.argmax(axis=1)}
    known |= {"count": np.bincount(y, minlength=K).astype(float), "with_rows": False, "place": {"a": 0, "b": 1}}
    return SimpleNamespace(posterior=posterior, y=y, **(known | more))


def test_rows_are_picked_in_the_order_of_their_kinds():
    p = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.95, 0.05], [0.45, 0.55], [0.2, 0.8], [0.9, 0.1], [0.35, 0.65]]
    y = [0, 1, 1, 0, 0, 0, 0, 1]
    typical, rare, doubtful, wrong = shown._picked(told(p, y))
    assert [title for title, _ in (typical, rare, doubtful)] == [("typical", "p"), ("typical", "q"), ("doubtful",)]
    assert typical[1].tolist() == [3, 0, 6]  # the surest first, of two alike the first
    assert rare[1].tolist() == [2, 7]
    assert doubtful[1].tolist() == [4, 1, 7, 2, 5]
    assert wrong[0] == ("wrong", "q", "p")  # said q, was p: twice; the other way once
    assert wrong[1].tolist() == [5, 4]
    right = shown._picked(told([[0.9, 0.1], [0.2, 0.8]], [0, 1]))
    assert [title[0] for title, _ in right] == ["typical", "typical", "doubtful"]
    many = shown._picked(told([[0.8, 0.2]] * 7, [0] * 3 + [1] * 4))
    assert [rows.tolist() for _, rows in many] == [[0, 1, 2], [], [0, 1, 2, 3, 4], [3, 4, 5, 6]]
    three = shown._picked(told([[0.1, 0.2, 0.7]] * 2 + [[0.2, 0.7, 0.1]], [0, 0, 2]))
    assert three[-1][0] == ("wrong", "r", "p")


def card(monkeypatch, e, key, rows, parts, prior=0.5, together=0.0, change=""):
    asked = []

    def explained(*told, **how):
        asked.append((told[2], told[3], how["change"]))
        return shown.Reasons(prior, parts, together, change)

    monkeypatch.setattr(shown, "explained", explained)
    monkeypatch.setattr(shown, "cell", lambda e, row, j: f"cell {row}.{j}")
    title = {"doubtful": ("doubtful",), "typical": ("typical", "p"), "wrong": ("wrong", "p", "p")}[key]
    text = shown._card(e, title, np.array(rows))
    seen = Seen(re.search(r"<svg.*</svg>", text, re.DOTALL).group())
    titles = iter(seen.all("g"))
    names = [
        t.said if t.style == "faint" else next(titles)[0].text for t in seen.texts() if t.style in ("faint", "value")
    ]
    return asked[0], list(zip(names, [t.said for t in seen.texts("tick")])), text


def test_a_card_weighs_the_class_said_against_the_next_or_the_truth(monkeypatch):
    e = told([[0.6, 0.1, 0.3], [0.6, 0.3, 0.1], [0.6, 0.0, 0.4]], [1, 1, 2])
    parts = {"a": -1.0, "b": 2.0, shown.OTHER_WORDS: 9.0}
    asked, rows, text = card(monkeypatch, e, "doubtful", [0, 1, 2], parts, together=-0.25)
    assert asked == (0, 2, False)
    others = WORDS["other_words"][0]
    assert rows == [
        (WORDS["prior"][0], "+0.50"),
        ("b", "+2.00"),
        ("a", "−1.00"),
        (others, "+9.00"),  # what words say together stands last, however much it is
        (WORDS["together"][0], "−0.25"),
    ]
    assert 'data-w="case_mean" data-a="[&#34;3&#34;]"' in text
    assert 'data-w="for_against" data-a="[&#34;p&#34;, &#34;r&#34;]"' in text
    assert card(monkeypatch, e, "wrong", [0, 1, 2], parts)[0] == (0, 1, False)  # the truth, twice of thrice
    assert card(monkeypatch, e, "typical", [0, 1, 2], parts)[0] == (0, 2, False)
    own = told([[0.6, 0.1, 0.3]], [0])
    assert card(monkeypatch, own, "wrong", [0], parts)[0] == (0, 2, False)
    monkeypatch.setattr(shown, "explained", lambda *a, **k: None)
    assert shown._card(e, ("doubtful",), np.array([0])) is None


@pytest.mark.parametrize("n", [shown.MOST_BARS, shown.MOST_BARS + 3])
def test_what_has_no_bar_is_summed_up(monkeypatch, n):
    e = told([[0.6, 0.4]] * 2, [0, 1])
    parts = {f"c{j}": float(n - j) for j in range(n)}
    _, rows, _ = card(monkeypatch, e, "doubtful", [0, 1], parts)
    assert rows[1:9] == [(f"c{j}", f"+{n - j:.2f}") for j in range(8)]
    assert rows[9:] == ([] if n == 8 else [("(+3)", "+6.00")])


def test_a_row_of_its_own_has_its_cells_its_answer_and_what_would_turn_it(monkeypatch):
    e = told([[0.6, 0.4], [0.2, 0.8], [0.7, 0.3]], [1, 1, 1], with_rows=True)
    asked, rows, text = card(monkeypatch, e, "wrong", [2], {"a": 1.0, "z": 0.5}, change="a: 1 → 2 gives q")
    assert asked == (0, 1, True)
    assert [name for name, _ in rows[1:]] == ["a = cell 2.0", "z"]
    assert 'data-w="case_row" data-a="[&#34;3&#34;]"' in text
    assert 'data-w="case_told" data-a="[&#34;q&#34;, &#34;p&#34;, &#34;70.0%&#34;]"' in text
    assert text.count('data-w="case_change"') == 1
    _, _, none = card(monkeypatch, e, "wrong", [2], {"a": 1.0})
    assert "case_change" not in none
    hidden = told([[0.6, 0.4]], [1])
    asked, rows, _ = card(monkeypatch, hidden, "wrong", [0], {"a": 1.0})
    assert asked == (0, 1, False)
    assert [name for name, _ in rows[1:]] == ["a"]  # no cell is shown


def test_of_texts_the_strongest_words_are_told_and_the_rest_together():
    words = {f"w{i}": (-1.0) ** i * (9 - i) for i in range(9)}  # 9, −8, 7, …
    said = {"a": 0.5, "t": 7.0}
    found = shown._by_words(said, {"t": words})
    seven = {f"“w{i}”": words[f"w{i}"] for i in range(7)}
    assert found == {"a": 0.5, **seven, shown.OTHER_WORDS: 1.0}
    weak = shown._by_words({"t": 0.012}, {"t": {"x": 0.005, "y": 0.0049}})
    assert weak == {"“x”": 0.005, shown.OTHER_WORDS: pytest.approx(0.007)}
    assert shown._by_words({"t": 1.0049}, {"t": {"x": 1.0}}) == {"“x”": 1.0}
    two = shown._by_words({"t": 1.0, "u": 2.0}, {"t": {"x": 0.5}, "u": {"x": 1.25}})
    assert two == {"t “x”": 0.5, "u “x”": 1.25, shown.OTHER_WORDS: 0.5 + 0.75}
    assert shown._by_words({"t": 99.0}, {"t": {"x": np.inf}})["“x”"] == 50.0


def test_days_are_dates_and_weekdays_are_named():
    X = pd.DataFrame(
        {"d": pd.to_datetime(["2020-01-06", "2020-02-04"] * 4), "d.weekday": [0, 1] * 4, "n": [1.5, 2.5] * 4}
    )
    y = ["p", "q"] * 4
    model = po.NaiveBayes(kinds={"d.weekday": "categorical"}).fit(X, y)
    e = gather(model, X, y, model.predict_proba(X), None, None, True, 3, 0)
    assert [str(shown.cell(e, 1, j)) for j in range(3)] == ["2020-02-04", "Tue", "2.5"]
    assert shown._called("n", {"n": 2.5}) == "n = 2.5"
    assert shown._called("n", {}) == "n"


def test_a_model_that_is_too_wide_is_explained_only_as_a_sum():
    class Sum:
        def _log_parts(self, X):
            warnings.warn("not to be seen", UserWarning, stacklevel=1)
            parts = np.zeros((len(X), 61, 2))
            parts[:, 0, 1], parts[0, 1, 1] = 2.0, np.inf
            return np.log([0.25, 0.75]), parts

    e = SimpleNamespace(
        frame=SimpleNamespace(d=61), X=np.zeros((4, 61)), names=[f"x{j}" for j in range(61)], inner=Sum()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = shown.explained(e, np.array([1, 3]), 1, 0, change=True)
    assert found.prior == pytest.approx(np.log(3))
    assert found.parts["x0"] == 2.0
    assert found.parts["x1"] == 25.0  # of two rows one counts 50 nats
    assert (found.together, found.change) == (0.0, "")


def test_a_change_is_told_of_one_row_if_it_is_asked_for():
    e = evidence(with_rows=True)
    rows = np.array([0, 1, 2])
    assert shown._each(e, rows[:1], 2, 0, True).change
    assert shown._each(e, rows[:1], 2, 0, False).change == ""
    mean = shown._each(e, rows, 2, 0, False)
    one = [shown._each(e, rows[[i]], 2, 0, False) for i in range(3)]
    for name, value in mean.parts.items():
        assert value == pytest.approx(np.mean([r.parts[name] for r in one]))
    averaged = evidence(po.AODE())
    mean = shown._each(averaged, rows, 2, 0, False)
    assert mean.together == pytest.approx(
        np.mean([shown._each(averaged, rows[[i]], 2, 0, False).together for i in range(3)])
    )
    assert mean.together != 0


SPOKEN = ["free", "cash", "win", "now", "mum", "home", "dinner", "you", "the", "and"]


def of_texts(K=2, n=200, seed=0, with_rows=False, more=True):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[:K] = range(K)
    weight = rng.dirichlet(np.full(len(SPOKEN), 0.5), K)
    texts = [" ".join(rng.choice(SPOKEN, rng.integers(0, 12), p=weight[c])) for c in y]
    texts[7] += " secretname"
    X = {"msg": np.array(texts, dtype=object)} | ({"x": rng.normal(y)} if more else {})
    labels = np.array([f"c{k}" for k in range(K)])[y]
    model = po.NaiveBayes(kinds={"msg": "text"}).fit(X, labels)
    return gather(model, X, labels, rng.dirichlet(np.ones(K), n), None, None, with_rows, 2, 0)


@pytest.mark.parametrize("K", [2, 3, 8])
def test_a_bar_is_what_one_more_occurrence_adds(K):
    e = of_texts(K)
    (density,) = texts_of(e.inner)
    for c in range(K):
        found = telling(density, e.inner.factored_.log_prior, c, 1)
        assert 0 < len(found) <= MOST_TELLING
        for word, weight in found:
            assert weight > 0
            bare = e.inner.predict_log_proba({"msg": [""], "x": [0.0]})[0]
            once = e.inner.predict_log_proba({"msg": [word], "x": [0.0]})[0]
            theta = np.exp(density.log_theta[density.place[word]])
            prior = np.exp(e.inner.factored_.log_prior)
            rest = np.delete(theta * prior, c).sum() / np.delete(prior, c).sum()
            assert weight == pytest.approx(np.log(theta[c] / rest))
            if K == 2:
                assert weight == pytest.approx((once - bare)[c] - (once - bare)[1 - c])
        worth = [density.log_theta[density.place[w]][c] + np.log(v) for w, v in found]
        assert worth == sorted(worth, reverse=True)


def test_words_of_few_rows_are_named_only_with_rows():
    assert "secretname" not in vocabulary(of_texts())
    assert "secretname" not in shown.cases(of_texts())
    e = of_texts(with_rows=True)
    (density,) = texts_of(e.inner)
    assert any("secretname" in dict(telling(density, e.inner.factored_.log_prior, c, 1)) for c in (0, 1))


def test_a_report_of_texts_alone_has_its_words_and_no_empty_choices():
    text = page(of_texts(more=False), None, None, "t", [], [], {})
    assert 'id="vocabulary"' in text
    assert 'href="#vocabulary"' in text
    assert "nothing_to_choose" in text
    assert 'id="chooser"' not in text
    assert 'class="by-eye"' not in text
    assert 'data-w="no_cases"' not in text
    assert "“" in shown.cases(of_texts(more=False))
    bare = gather(po.NaiveBayes().fit({"x": [1.0, 2, 3, 4] * 5}, [0, 1] * 10), {"x": [1.0, 2, 3, 4] * 5}, [0, 1] * 10,
                  None, None, None, False, 2, 0)  # fmt: skip
    assert vocabulary(bare) == ""


def test_words_of_some_rows_and_the_rest_add_up():
    e = of_texts(with_rows=True)
    rows = np.array([3, 4, 9])
    X = {k: np.asarray(v)[rows] for k, v in {"msg": e.frame.column(0), "x": e.frame.column(1)}.items()}
    found = words_of_rows(e, X, len(rows), 1, 0)["msg"]
    _, parts = e.inner._log_parts(X)
    assert sum(found.values()) == pytest.approx((parts[:, 0, 1] - parts[:, 0, 0]).mean())
    reasons = shown.explained(e, rows, 1, 0, change=False)
    whole = (parts[:, :, 1] - parts[:, :, 0]).mean(axis=0)
    assert sum(reasons.parts.values()) == pytest.approx(whole.sum(), abs=0.02)
    assert shown.OTHER_WORDS in reasons.parts
