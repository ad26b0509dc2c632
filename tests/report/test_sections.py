"""The sections of a report: the figures and counts in them are those of the rows, by hand."""

from __future__ import annotations

import html
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import posteriori as po
from posteriori.decision.curve import risk_coverage
from posteriori.report import page as sections
from posteriori.report.evidence import gather
from posteriori.report.markup import WORDS, figure, percent


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
    found = cells(sections.confusion(e))
    assert [[int(c) for c in row[1:]] for row in found[1:]] == wanted.tolist()
    assert [row[0] for row in found[1:]] == list(e.classes)
    assert found[0][1:4] == list(e.classes)
    assert (found[0][-1] == WORDS["leave"][0]) == (reject is not None)
    text = sections.confusion(e)
    hits = re.findall(r'class="(hit|miss) q(\d)">(\d+)<small>([^<]*)', text)
    share = wanted / wanted.sum(axis=1, keepdims=True)
    assert [h[0] == "hit" for h in hits] == [a == k for k in range(3) for a in range(wanted.shape[1])]
    assert [int(h[1]) for h in hits] == np.ceil(share * 8).astype(int).ravel().tolist()
    assert [h[3] for h in hits] == [percent(s, 0) if s else "" for s in share.ravel()]


def test_many_classes_are_confused_together():
    e, codes, _ = evidence(K=15, n=400)
    found = cells(sections.confusion(e))
    assert len(found) == len(found[0]) == sections.MOST_CONFUSED + 1
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
    assert told(sections.confusion(e), "confusion_rest") == [(str(len(alone)),)]
    assert told(sections.confusion(evidence(K=12)[0]), "confusion_rest") == []
    assert sections._groups(np.arange(12), 12) == [[i] for i in range(12)]
    held = sections._groups(np.arange(14), 14)
    assert sorted(i for g in held for i in g) == list(range(14))


@pytest.mark.parametrize("reject", [None, 0.5])
@pytest.mark.parametrize("K", [3, 12, 13, 50])
def test_rows_and_columns_of_the_confusion_are_the_same_classes(K, reject):
    """Whatever is decided: hits lie on the diagonal, and each named class counts its own."""
    e, codes, _ = evidence(K=K, n=600, reject=reject)
    found = cells(sections.confusion(e))
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
    text = sections.glance(e)
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
    text = sections.glance(e)
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
    plain = sections.glance(evidence()[0])
    assert len(re.findall("<dd>", plain)) == 3
    assert 'data-w="folds"' in plain
    assert sections._zero_one(evidence()[0])
    assert not sections._zero_one(e)
    priced = sections.glance(evidence(loss=[[0, 2, 1], [1, 0, 1], [3, 1, 0]])[0])
    assert len(re.findall("<dd>", priced)) == 4


@pytest.mark.parametrize("K", [2, 3, 8])
def test_trust_says_the_areas_under_its_curves(K):
    e, codes, p = evidence(K=K, n=200)
    text = sections.trust(e)
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
    text = sections.data(e)
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
    assert 'data-w="classes_left"' in sections.data(evidence(K=8)[0])


def test_the_board_names_the_chosen_and_those_without_scores():
    row = lambda name, status="finished": SimpleNamespace(name=name, status=status, reason=f"why {name}")  # noqa: E731
    board = SimpleNamespace(scores=["odd"], rows=[row("best"), row("<bad>", "failed"), row("next")])
    text = sections.board(board, "next")
    assert [r[0] for r in cells(text)[1:]] == ["best", f"next {WORDS['chosen'][0]}"]
    assert "<li><bdi>&lt;bad&gt;</bdi>: why &lt;bad&gt;</li>" in text
    assert "more_models" not in text
    long = sections.board(SimpleNamespace(scores=[], rows=[row(f"m{i}") for i in range(63)]), None)
    assert len(cells(long)) == 61
    assert 'data-w="more_models" data-a="[&#34;3&#34;]"' in long
    assert "not_scored" not in long
    assert sections.board(None, None) == ""
