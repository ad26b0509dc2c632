"""The report as text: one file, small whatever the data, nothing of a row in it, nothing from the data that is not
text.
"""

from __future__ import annotations

import html
import itertools
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

import posteriori as po
from posteriori.decision.decide import risk_coverage
from posteriori.decision.on_points import OnPoints
from posteriori.errors import BadValue, ModelError, UnknownValue, WriteError
from posteriori.explain.whatif import cut
from posteriori.report import page as page_file
from posteriori.report.evidence import gather
from posteriori.report.graphs import star
from posteriori.report.markup import WORDS, data_block, figure, fill, percent, say
from posteriori.report.page import LARGEST, policy, write_report

from .drawn import Seen

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "=cmd|' /C calc'!A0",
    "\"quoted\" 'twice' `thrice`",
    "two\nlines\rand\ttabs",
    "中文列名",
    "🙂 emoji 👩‍👩‍👧",
    "עברית \u202e reversed \u2067isolate",
    "{0} {1} &amp; &lt;",
    "-->]]><!--",
    "\x00\x1b[31m\ud800",
]


def weather(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "sky": np.array(["blue", "grey"])[np.where(rng.random(n) < 0.8, y, 1 - y)],
            "warm": rng.normal(15 + 4 * y, 3).round(2),
            "wind": rng.choice(["none", "some", "much"], n),
        }
    )
    return X, np.array(["in", "out"])[y]


class Tags(HTMLParser):
    """Elements and their attributes; whether every one that is opened is closed."""

    VOID = frozenset({"meta", "input", "br", "img", "link", "path", "circle", "rect"})

    def __init__(self, text):
        super().__init__()
        self.open, self.found = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID or tag in ("path", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def written(tmp_path, model, X, y, **more):
    more = {"folds": 2} | more
    return write_report(tmp_path / "report.html", model, X, y, **more).read_text(encoding="utf-8")


def test_a_report_is_one_well_formed_file_that_asks_for_nothing(tmp_path):
    X, y = weather()
    text = written(tmp_path, po.NaiveBayes().fit(X, y), X, y, title="weather.csv")
    tags = Tags(text)
    assert tags.open == []
    assert not [t for t, a in tags.found if t in ("img", "link", "iframe", "object") or "src" in a or "style" in a]
    assert not [a for _, attrs in tags.found for a in attrs if a.startswith("on")]
    assert all(a["href"].startswith("#") for t, a in tags.found if t == "a")
    identities = [a["id"] for _, a in tags.found if "id" in a]
    assert len(set(identities)) == len(identities)
    assert [f.name for f in tmp_path.iterdir()] == ["report.html"]
    rules = next(a["content"] for t, a in tags.found if t == "meta" and a.get("http-equiv"))
    assert rules.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in rules


def test_every_word_is_said_in_both_languages_with_the_same_gaps(tmp_path):
    for key, (english, chinese) in WORDS.items():
        assert english, key
        assert chinese, key
        assert set(re.findall(r"\{\d\}", english)) == set(re.findall(r"\{\d\}", chinese)), key
    X, y = weather()
    text = written(tmp_path, po.NaiveBayes().fit(X, y), X, y)
    used = {a[k] for _, a in Tags(text).found for k in ("data-w", "data-l") if k in a}
    assert used <= set(WORDS)


def hostile_table():
    rng = np.random.default_rng(0)
    n = 30 * len(HOSTILE)
    columns = {}
    for name in HOSTILE:
        cells = np.empty(n, dtype=object)
        cells[:] = rng.choice(np.array(HOSTILE, dtype=object), n)
        columns[name] = cells
    labels = np.empty(n, dtype=object)
    labels[:] = (HOSTILE[:3] * n)[:n]
    return columns, labels


@pytest.mark.parametrize("with_rows", [False, True])
def test_whatever_the_data_says_comes_out_as_text(tmp_path, with_rows):
    columns, labels = hostile_table()
    columns = {k.replace("\ud800", "?"): v for k, v in columns.items()}
    for v in columns.values():
        v[v == HOSTILE[-1]] = "\x00\x1b[31m"  # Arrow takes no half of a pair
    model = po.NaiveBayes().fit(columns, labels)
    text = written(
        tmp_path, model, columns, labels, with_rows=with_rows, title=HOSTILE[0], warnings=HOSTILE,
        hashes={HOSTILE[1]: "0" * 64}, reject=0.2,
    )  # fmt: skip
    plain = written(tmp_path, po.NaiveBayes().fit(*weather()), *weather())
    tags = Tags(text)
    assert tags.open == []
    assert {t for t, _ in tags.found} <= {t for t, _ in Tags(plain).found} | {"em"}
    assert text.count("<script") == plain.count("<script") == 3
    assert html.escape(HOSTILE[0]) in text
    assert "\x00" not in text
    assert "\x1b" not in text
    block = json.loads(re.search(r'id="model">(.*?)</script>', text, re.S)[1])
    assert block["classes"] == sorted(HOSTILE[:3])


def canaries(n=200):
    """A table in which every row has cells that no other row has."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "who": [f"canary-{i:04d}" for i in range(n)],
            "exact": 1000.123456 + np.arange(n) * 7.000321 + rng.normal(0, 1, n),
            "extreme": np.where(np.arange(n) == 17, 987654.321, rng.normal(y, 1)),
            "group": rng.choice(["many", "others"], n),
        }
    )
    X.loc[5, "group"] = "only-once"
    return X, np.array(["ill", "well"])[y]


@pytest.mark.parametrize(
    "model", [po.NaiveBayes(), po.NaiveBayes(density="kernel"), po.NaiveBayes(density="gaussian"), po.TAN(), po.AODE()],
    ids=["auto", "kernel", "gaussian", "TAN", "AODE"],
)  # fmt: skip
def test_no_cell_of_a_row_is_in_a_report_without_rows(tmp_path, model):
    X, y = canaries()
    text = written(tmp_path, model.fit(X, y), X, y)
    assert "canary" not in text
    assert "only-once" not in text
    assert "987654" not in text
    assert not [v for v in X["exact"] if f"{v:.5f}" in text or f"{v:.3f}" in text]
    assert "many" in text


def test_a_report_with_rows_has_them(tmp_path):
    X, y = canaries()
    text = written(tmp_path, po.NaiveBayes().fit(X, y), X, y, with_rows=True)
    assert re.search(r"who = canary-\d{4}", text)


@pytest.mark.parametrize(
    ("n", "d", "k", "long"),
    [(400, 3000, 3, 10), (900, 60, 300, 500), (60, 40, 2, 10_000)],
    ids=["wide", "many", "long"],
)
def test_a_report_is_small_whatever_the_data(tmp_path, n, d, k, long):
    rng = np.random.default_rng(0)
    y = np.array([f"class {i % k} " + "ж" * long for i in range(n)])
    numbers = {f"n{j} " + "ש" * long: rng.normal(size=n) for j in range(d // 2)}
    words = {f"w{j} " + "中" * long: rng.choice([f"{v}" + "🙂" * long for v in "abcd"], n) for j in range(d - d // 2)}
    X = numbers | words
    model = po.NaiveBayes(density="gaussian").fit(X, y)
    posterior = rng.dirichlet(np.ones(k), n)
    path = write_report(tmp_path / "r.html", model, X, y, posterior=posterior, warnings=["w" * 10_000] * 1000)
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize(
    "model",
    [
        po.NaiveBayes(), po.TAN(), po.AODE(), po.KDB(), po.SPODE(), po.BayesNetClassifier(),
        po.RiskClassifier(po.NaiveBayes(), loss={"in": 1, "out": 5}, reject=0.4),
    ],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_every_kind_of_model_has_a_report(tmp_path, model):
    X, y = weather()
    text = written(tmp_path, model.fit(X, y), X, y)
    assert Tags(text).open == []
    assert type(getattr(model, "estimator", model)).__name__ in text


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (po.NaiveBayes(), ["takes no part: its attribute says nothing", "did not have counts as missing"]),
        (po.NaiveBayes(unseen="mass"), ["takes no part: its attribute says nothing", "gets the probability λ/(N"]),
        (po.TAN(), ["is summed out exactly", "did not have counts as missing"]),
    ],
    ids=str,
)
def test_a_report_says_what_becomes_of_missing_and_unseen_cells(tmp_path, model, said):
    X, y = weather(120)
    X["wind"] = X["wind"].where(np.arange(120) % 4 > 0, None)  # 30 of 360 cells
    text = written(tmp_path, model.fit(X, y), X, y)
    assert all(sentence in text for sentence in [*said, "Here 8.3% of the cells were missing"])


def test_scikit_learn_s_models_have_one_too(tmp_path):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    text = written(tmp_path, LogisticRegression().fit(X, y), X, y)
    assert Tags(text).open == []
    assert "LogisticRegression" in text


def test_tables_of_every_kind(tmp_path):
    """Sparse counts, text alone, booleans as classes, one class, actions that are no classes, a column of one value."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    counts = sparse.csr_matrix(rng.poisson(1 + y[:, None], (60, 5)))
    said = np.array(["good fun", "bad luck"])[y]
    cases = [
        (po.NaiveBayes(), counts, y),
        (po.MultinomialNB(), counts, y),
        (po.NaiveBayes(kinds={"said": "text"}), {"said": said}, y),
        (po.NaiveBayes(), {"a": rng.choice(["u", "v"], 60)}, y == 1),
        (po.NaiveBayes(), {"a": ["u"] * 60}, y),
        (po.NaiveBayes(), {"a": ["u", "v"] * 30}, ["only"] * 60),
        (po.GaussianNB(), rng.normal(size=(60, 3)), y),
    ]
    for model, X, labels in cases:
        assert Tags(written(tmp_path, model.fit(X, labels), X, labels)).open == []
    loss = po.Loss([[0, 5], [2, 1], [9, 9]], classes=["no", "yes"], actions=["wait", "treat", "yes"])
    X, labels = {"a": rng.choice(["u", "v"], 60)}, np.array(["no", "yes"])[y]
    text = written(tmp_path, po.NaiveBayes().fit(X, labels), X, labels, loss=loss, reject=3.0)
    assert "treat" in text


def test_the_leaderboard_is_shown_with_its_failures(tmp_path):
    X, y = weather()
    board = po.compare(X, y, models=["baseline", "naive", "gaussian"], cv=2)
    text = written(tmp_path, po.NaiveBayes().fit(X, y), X, y, leaderboard=board, chosen="naive")
    assert Tags(text).open == []
    shown = text[text.index('<section id="board"') : text.index('<section id="cases"')]
    assert f"{board['naive'].mean('log_loss'):.3f}" in shown
    assert "this report" in shown
    assert board["gaussian"].reason in html.unescape(shown)


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_few_rows(tmp_path, n):
    X = {"a": ["u", "v"] * n, "b": np.arange(2.0 * n), "none": [np.nan] * (2 * n), "same": [1.0] * (2 * n)}
    y = ["p", "q"] * n
    assert Tags(written(tmp_path, po.NaiveBayes().fit(X, y), X, y)).open == []


def test_one_row_of_a_class_and_columns_far_apart(tmp_path):
    X = {"tiny": [1e-150, 2e-150, 3e-150] * 9, "huge": [1e150, -1e150, 5e149] * 9, "word": ["a", "b", "c"] * 9}
    y = ["p", "q"] * 13 + ["alone"]
    for model in (po.NaiveBayes(density="gaussian"), po.NaiveBayes(smoothing=0.0, density="gaussian"), po.TAN()):
        assert Tags(written(tmp_path, model.fit(X, y), X, y, posterior=np.full((27, 3), 1 / 3))).open == []


def test_what_is_refused(tmp_path):
    X, y = weather()
    model = po.NaiveBayes().fit(X, y)
    path = tmp_path / "r.html"
    with pytest.raises(BadValue, match="the posterior has the shape"):
        write_report(path, model, X, y, posterior=np.ones((3, 2)) / 2)
    with pytest.raises(BadValue, match="120 rows, y 119"):
        write_report(path, model, X, y[:-1])
    with pytest.raises(UnknownValue, match="holds 'snow'"):
        write_report(path, model, X, ["snow"] * 120)
    with pytest.raises(ModelError, match="predict_proba"):
        write_report(path, po.KMeans().fit(X[["warm"]]), X, y)
    with pytest.raises(WriteError, match="folder"):
        write_report(tmp_path, model, X, y)
    assert not path.exists()


def test_markup_is_not_read_twice():
    assert fill("{0} and {1}", ["{1}", "{0}"]) == "{1} and {0}"
    assert "&lt;b&gt;" in say("rows", "<b>")
    assert cut("\ud800") == "\\ud800"
    block = data_block("x", {"a": "</script><!--\u2028\ud800"})
    assert block.count("</script>") == 1
    assert json.loads(block[block.index(">") + 1 : block.rindex("<")])["a"] == "</script><!--\u2028\ud800"


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        (po.NaiveBayes(), ["policy_missing", "policy_unseen_missing"]),
        (po.NaiveBayes(unseen="mass"), ["policy_missing", "policy_unseen_mass"]),
        (po.TAN(), ["policy_summed", "policy_unseen_missing"]),
        (OnPoints(LogisticRegression()), ["policy_pipeline"]),
        (LogisticRegression(), ["policy_pipeline"]),
    ],
    ids=str,
)
def test_each_sentence_on_gaps_is_said_where_it_holds(model, keys):
    X = np.arange(24.0).reshape(12, 2) % 5
    evidence = SimpleNamespace(inner=model.fit(X, np.arange(12) % 2), survey=SimpleNamespace(missing=0.25))
    text = policy(evidence)
    assert [k for k in re.findall(r'data-w="(\w+)"', text) if k.startswith("policy_")] == [*keys, "policy_data"]
    assert "25" in text


@given(st.lists(st.floats(0, 3), max_size=11))
def test_columns_hang_from_the_class(values):
    columns = [(f"column {i}", v) for i, v in enumerate(values)]
    seen = Seen(star("the class", columns))
    seen.everything_is_inside()
    boxes = seen.numbers("rect")
    target, rest = boxes[-1], boxes[:-1]
    middle = target[0] + target[2] / 2
    assert middle == seen.wide / 2
    ties = seen.paths("tie")
    assert len(ties) == len(rest) == len(columns)
    top = max(values, default=1.0) or 1.0
    for value, tie, box, e in zip(values, ties, rest, seen.all("path", "tie")):
        assert tie[0] == (middle, 34.0)
        assert target[1] < 34 <= target[1] + target[3]
        assert tie[-1] == pytest.approx((box[0] + box[2] / 2, box[1]), abs=0.11)
        assert float(e.get("stroke-width")) == pytest.approx(0.8 + 4.2 * value / top, abs=0.01)
        assert e[0].text == f"{e[0].text.split(':')[0]}: {value:.3f}"
    for a, b in itertools.combinations(boxes, 2):
        assert a[0] + a[2] <= b[0] + 0.1 or b[0] + b[2] <= a[0] + 0.1 or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
    rows = sorted({box[1] for box in rest})
    for y in rows:  # each row is centred
        mine = [box[0] + box[2] / 2 for box in rest if box[1] == y]
        assert sum(mine) / len(mine) == pytest.approx(middle, abs=0.1)
        assert len(mine) <= 3
    assert [t.said for t in seen.texts("value")] == [name for name, _ in columns]
    assert seen.texts("name")[0].said == "the class"
    for text, box in zip(seen.texts("value"), rest):
        assert text.x == pytest.approx(box[0] + box[2] / 2, abs=0.1)
        assert box[1] < text.y < box[1] + box[3]
    if rest:
        assert seen.tall == pytest.approx(max(y + height for _, y, _, height in rest) + 9 + 4, abs=10)


def evidence(K=3, n=120, loss=None, reject=None, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"c{k:02d}" for k in range(K)]
    codes = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    y = np.array(names)[codes]
    X = {"a": rng.choice(["u", "v"], n), "warm": rng.normal(codes)}
    posterior = rng.dirichlet(np.ones(K), n)
    if loss is not None:
        loss = po.Loss(loss, classes=names)
    e = gather(po.NaiveBayes().fit(X, y), X, y, posterior, loss, reject, False, 3, 0)
    return e, codes, posterior


def cells(table):
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)
    return [
        [re.sub(r"<small>.*?</small>|<[^>]*>", "", c) for c in re.findall(r"<t[hd].*?</t[hd]>", r, re.S)] for r in rows
    ]


@pytest.mark.parametrize("reject", [None, 0.5])
def test_confusion_counts_what_was_decided(reject):
    e, codes, p = evidence(reject=reject)
    decided = p.argmax(axis=1)
    if reject is not None:
        decided = np.where(1 - p.max(axis=1) > reject, 3, decided)
    wanted = np.array(
        [[((codes == k) & (decided == a)).sum() for a in range(3 + (reject is not None))] for k in range(3)]
    )
    found = cells(page_file.confusion(e))
    assert [[int(c) for c in row[1:]] for row in found[1:]] == wanted.tolist()
    assert [row[0] for row in found[1:]] == list(e.classes)
    assert found[0][1:4] == list(e.classes)
    assert (found[0][-1] == WORDS["leave"][0]) == (reject is not None)
    text = page_file.confusion(e)
    hits = re.findall(r'class="(hit|miss) q(\d)">(\d+)<small>([^<]*)', text)
    share = wanted / wanted.sum(axis=1, keepdims=True)
    assert [h[0] == "hit" for h in hits] == [a == k for k in range(3) for a in range(wanted.shape[1])]
    assert [int(h[1]) for h in hits] == np.ceil(share * 8).astype(int).ravel().tolist()
    assert [h[3] for h in hits] == [percent(s, 0) if s else "" for s in share.ravel()]


def test_many_classes_are_confused_together():
    e, codes, _ = evidence(K=15, n=400)
    found = cells(page_file.confusion(e))
    assert len(found) == len(found[0]) == page_file.MOST_CONFUSED + 1
    total = sum(int(c.replace(",", "")) for row in found[1:] for c in row[1:])
    assert total == 400
    other = "4 other classes"
    assert found[0][-1] == found[-1][0]
    count = np.bincount(codes)
    alone = [row[0] for row in found[1:-1]]
    assert min(count[e.classes.index(c)] for c in alone) >= max(
        count[k] for k in range(15) if e.classes[k] not in alone
    )
    assert str(15 - 11) in found[-1][0], other
    assert told(page_file.confusion(e), "confusion_rest") == [(str(len(alone)),)]
    assert told(page_file.confusion(evidence(K=12)[0]), "confusion_rest") == []
    assert page_file._groups(np.arange(12), 12) == [[i] for i in range(12)]
    held = page_file._groups(np.arange(14), 14)
    assert sorted(i for g in held for i in g) == list(range(14))


@pytest.mark.parametrize("reject", [None, 0.5])
@pytest.mark.parametrize("K", [3, 12, 13, 50])
def test_rows_and_columns_of_the_confusion_are_the_same_classes(K, reject):
    """Whatever is decided: hits lie on the diagonal, and each named class counts its own."""
    e, codes, _ = evidence(K=K, n=600, reject=reject)
    found = cells(page_file.confusion(e))
    left = [WORDS["leave"][0]] if reject else []
    assert found[0][1:] == [row[0] for row in found[1:]] + left
    for k, row in enumerate(found[1:], start=1):
        if row[0] in e.classes:
            c = e.classes.index(row[0])
            assert int(row[k]) == int(((codes == c) & (e.decided == c)).sum())
    right = sum(int(row[k]) for k, row in enumerate(found[1:], start=1))
    assert right >= (codes == e.decided).sum()


def told(text, key):
    """What a sentence of the dictionary was filled with, wherever it stands."""
    found = re.findall(rf'data-w="{key}" data-a="(.*?)"', text)
    return [tuple(json.loads(html.unescape(f))) for f in found]


@pytest.mark.parametrize("reject", [None, 0.01, 0.5, 5.0])
def test_the_loss_of_who_does_not_look_is_that_of_the_action_named(reject):
    e, codes, _ = evidence(reject=reject, loss=[[0, 20, 1], [1, 0, 1], [3, 1, 0]])
    cost = {a: e.loss.matrix[i][codes].mean() for i, a in enumerate(e.actions)}
    text = page_file.glance(e)
    left = told(text, "baseline_left")
    if left:
        assert left == [(figure(float(reject)),)]
        assert min(cost.values()) == pytest.approx(reject)
    else:
        action, figured = told(text, "baseline")[0]
        assert figured == figure(cost[action])
        assert cost[action] == pytest.approx(min(cost.values()))


def test_the_figures_at_a_glance():
    e, codes, _ = evidence(reject=0.5, loss=[[0, 2, 1], [1, 0, 1], [3, 1, 0]])
    text = page_file.glance(e)
    shown = re.findall(r"<dd>(.*?)</dd>", text)
    s = e.scores
    assert shown == [
        figure(s["cost"]),
        percent(s["error"]),
        figure(s["log_loss"]),
        percent(s["calibration_error"]),
        percent(s["rejected"]),
    ]
    common = e.classes[np.bincount(codes).argmax()]
    b = e.baseline
    assert told(text, "baseline") == [(common, percent(b["error"]))]
    assert told(text, "baseline_shares") == [(figure(b["log_loss"]),)]
    assert told(text, "baseline_left") == [("0.500",)]  # to leave all to a person costs least
    plain = page_file.glance(evidence()[0])
    assert len(re.findall("<dd>", plain)) == 3
    assert 'data-w="folds"' in plain
    assert page_file._zero_one(evidence()[0])
    assert not page_file._zero_one(e)
    priced = page_file.glance(evidence(loss=[[0, 2, 1], [1, 0, 1], [3, 1, 0]])[0])
    assert len(re.findall("<dd>", priced)) == 4


@pytest.mark.parametrize("K", [2, 3, 8])
def test_trust_says_the_areas_under_its_curves(K):
    e, codes, p = evidence(K=K, n=200)
    text = page_file.trust(e)
    count = np.bincount(codes)
    order = [1] if K == 2 else sorted(np.argsort(-count, kind="stable")[:6].tolist())
    areas = re.findall(r'data-w="area" data-a="\[&#34;(.*?)&#34;\]"', text)
    curve = risk_coverage(p, e.loss, np.array(e.classes)[codes], classes=np.array(e.classes))
    assert areas == [
        ", ".join(figure(roc_auc_score(codes == c, p[:, c])) for c in order),
        ", ".join(figure(average_precision_score(codes == c, p[:, c])) for c in order),
        figure(curve.area),
    ]
    assert ('data-w="classes_left"' in text) == (K > 6)
    assert text.count("<figure") == 6
    assert ("reliability_of" in text) == (K == 2)
    assert text.count("s0") > 3
    sides = 1 if K == 2 else 0
    assert len(re.findall(r'line aside s\d"', text)) == len(order) + sides  # cost by trivial rules; precision by chance
    assert ('class="card wide"' in text) == (K > 2)
    assert f"<bdi>{e.classes[order[0]]}</bdi>" in text


def test_columns_are_listed_with_what_they_tell():
    e, codes, _ = evidence()
    text = page_file.data(e)
    listed, classes = re.findall(r"<table.*?</table>", text, re.S)
    rows = cells(listed)
    assert len(rows) == 3
    assert len(rows[0]) == 6
    summary = e.inner.summary().set_index("column")
    assert [r[-1] for r in rows[1:]] == [figure(summary.loc[r[0], "information"]) for r in rows[1:]]
    assert {r[0]: r[3] for r in rows[1:]} == {"a": "2", "warm": ""}
    assert [r[:2] for r in cells(classes)[1:]] == [[c, str(n)] for c, n in zip(e.classes, np.bincount(codes))]
    assert [r[2] for r in cells(classes)[1:]] == [percent(v / 120) for v in np.bincount(codes)]
    assert text.count("spread-card") == 2
    assert 'data-w="classes_left"' not in text
    assert 'data-w="columns_left"' not in text
    assert 'data-w="classes_left"' in page_file.data(evidence(K=8)[0])


def test_the_board_names_the_chosen_and_those_without_scores():
    row = lambda name, status="finished": SimpleNamespace(name=name, status=status, reason=f"why {name}")  # noqa: E731
    board = SimpleNamespace(scores=["odd"], rows=[row("best"), row("<bad>", "failed"), row("next")])
    text = page_file.board(board, "next")
    assert [r[0] for r in cells(text)[1:]] == ["best", f"next {WORDS['chosen'][0]}"]
    assert "<li><bdi>&lt;bad&gt;</bdi>: why &lt;bad&gt;</li>" in text
    assert "more_models" not in text
    long = page_file.board(SimpleNamespace(scores=[], rows=[row(f"m{i}") for i in range(63)]), None)
    assert len(cells(long)) == 61
    assert 'data-w="more_models" data-a="[&#34;3&#34;]"' in long
    assert "not_scored" not in long
    assert page_file.board(None, None) == ""
