"""Losses: how they are said, how they are matched to classes, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.decision.loss import joined, united
from posteriori.errors import LossError

SPAM = {"ham": {"ham": 0, "spam": 1}, "spam": {"ham": 10, "spam": 0}}
MATRIX = [[0, 1], [10, 0]]
plain = st.one_of(st.integers(-9, 9), st.text("abc", min_size=1, max_size=3), st.floats(-2, 2))


@given(st.lists(st.integers(-9, 9), unique=True, max_size=4), st.lists(plain, unique=True, max_size=3))
def test_a_label_stays_what_it_was(labels, further):
    both = joined(np.array(labels, dtype=np.int64), further)
    assert both[: len(labels)].tolist() == labels
    assert set(both[len(labels) :].tolist()) == set(further)


@pytest.mark.parametrize(
    ("labels", "further", "kind"),
    [
        ([0, 1], [2], "i"),
        ([0, 1], [0.5], "f"),
        (["no"], ["reject"], "U"),
        ([0, 1], ["reject"], "O"),
        (["no"], [-1], "O"),
    ],
)
def test_numbers_stay_numbers_and_text_stays_text(labels, further, kind):
    both = joined(np.array(labels), further)
    assert both.dtype.kind == kind
    assert both.tolist() == [*labels, *further]


def test_united_labels_keep_the_type_that_they_share():
    assert united(["b", "a"], ["c"]).dtype.kind == "U"
    assert united([2, 1], [3.5]).dtype.kind == "f"
    assert {type(label) for label in united([1], ["a"]).tolist()} == {int, str}  # a number does not become a word


def test_actions_are_rows_and_truth_columns():
    loss = po.Loss(MATRIX, classes=["ham", "spam"])
    assert loss.matrix[1, 0] == 10  # deciding spam when the truth is ham
    assert po.risk([1.0, 0.0], loss).tolist() == [0, 10]


def test_zero_one_and_per_class():
    assert po.Loss.zero_one(3).matrix.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert po.Loss.per_class({"ham": 10, "spam": 1}) == po.Loss(MATRIX, classes=["ham", "spam"])
    assert po.Loss.per_class([10, 1]).matrix.tolist() == MATRIX
    with pytest.raises(LossError, match="one cost for each class"):
        po.Loss.per_class([[1, 2]])


def test_actions_need_not_be_classes():
    loss = po.Loss([[1, 8], [3, 2]], classes=["healthy", "ill"], actions=["wait", "treat"])
    assert po.decide([[0.9, 0.1], [0.5, 0.5]], loss).tolist() == ["wait", "treat"]
    assert po.decide([[0.1, 0.9], [0.5, 0.5]], loss, classes=["ill", "healthy"]).tolist() == ["wait", "treat"]


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (["ham", "spma"], r"no column 'spma' \(it has 'ham', 'spam'\); did you mean 'spam'\?"),
        (["ham"], r"a column 'spam', which is not a class"),
        (["ham", "spam", "scam"], r"no column 'scam'"),
        ([0, 1], r"no column 0"),
    ],
)
def test_classes_that_do_not_match_are_named(classes, said):
    with pytest.raises(LossError, match=said):
        po.Loss.from_table(SPAM).over(classes)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: po.Loss([[0, np.nan], [1, 0]]), r"row 0 \(action\), column 1 \(truth\) is nan"),
        (lambda: po.Loss([[0, 1], [np.inf, 0]]), "finite"),
        (lambda: po.Loss([0, 1]), r"shape \(2,\)"),
        (lambda: po.Loss(np.zeros((0, 2))), "shape"),
        (lambda: po.Loss([[0, "x"], [1, 0]]), "holds numbers"),
        (lambda: po.Loss(np.array([[0, 1j], [1, 0]])), "holds numbers"),
        (lambda: po.Loss([[0, 1], [1, 0], [2, 2]]), "names for its actions"),
        (lambda: po.Loss(MATRIX, classes=["a"]), "1 classes and 2 columns"),
        (lambda: po.Loss(MATRIX, classes=["a", "a"]), "'a' comes twice"),
        (lambda: po.Loss(MATRIX, classes=["a", "b"], actions=["x"]), "1 actions and 2 rows"),
        (lambda: po.Loss.zero_one(2).with_reject(np.nan), "finite number"),
        (lambda: po.Loss.zero_one(2).with_reject("cheap"), "'cheap'"),
        (lambda: po.Loss.zero_one(2).with_reject(0.1).with_reject(0.2), "reject row already"),
        (lambda: po.Loss.zero_one(["reject", "keep"]).with_reject(0.1).labels("keep"), "'keep' is an action already"),
        (lambda: po.Loss.zero_one([-1, 1]).with_reject(0.1).labels(-1), "-1 is an action already"),
        (
            lambda: po.Loss.from_table({"a": {"a": 0, "b": 1}, "b": {"a": 1}}),
            "the truth is 'b' is missing",
        ),
        (lambda: po.Loss.from_table({"a": {"a": 0, "b": ""}, "b": {"a": 1, "b": 0}}), "row 'a', column 'b'.*got ''"),
        (lambda: po.Loss.from_table({"a": {"a": None}}), "got None"),
        (lambda: po.Loss(np.zeros((2, 2)), classes=np.zeros((2, 2))), "list of labels"),
    ],
)
def test_what_is_no_loss_is_refused(make, said):
    with pytest.raises(LossError, match=said):
        make()


def test_a_loss_is_a_value():
    loss = po.Loss(MATRIX, classes=["ham", "spam"]).with_reject(0.5)
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert copy.deepcopy(loss) == loss
    assert eval(repr(loss), {"Loss": po.Loss}) == loss
    assert loss != loss.without_reject()
    assert loss != "loss"
    with pytest.raises(ValueError, match="read-only"):
        loss.matrix[0, 0] = 1


@pytest.mark.parametrize("reject", [False, True])
@pytest.mark.parametrize("actions", [None, ["keep", "drop"], ["ham", "spam"]])
@pytest.mark.parametrize("classes", [None, ["ham", "spam"]])
def test_a_loss_is_said_in_full(classes, actions, reject):
    loss = po.Loss(MATRIX, classes=classes, actions=actions)
    loss = loss.with_reject(0.5) if reject else loss
    assert eval(repr(loss), {"Loss": po.Loss}) == loss
    assert ("actions=" in repr(loss)) == (actions is not None and actions != classes)
    assert ("classes=" in repr(loss)) == (classes is not None)


@pytest.mark.parametrize(
    ("classes", "label", "expected"),
    [
        (np.array([0, 1], np.uint8), None, [0, 1, -1]),
        (np.array([False, True]), None, [0, 1, -1]),
        (np.array([0.5, 1.5]), None, [0.5, 1.5, -1]),
        (np.array([-1, 1]), None, [-1, 1, -2]),
        (np.array(["no", "yes"]), "ask a colleague", ["no", "yes", "ask a colleague"]),
        (np.array(["no", "yes"], object), None, ["no", "yes", "reject"]),
        (np.array([0, 1]), "unsure", [0, 1, "unsure"]),
    ],
)
def test_the_reject_label_never_damages_a_class_label(classes, label, expected):
    assert po.Loss.zero_one(classes).with_reject(0.1).labels(label).tolist() == expected


def test_a_loss_equals_losses_alone():
    loss = po.Loss.per_class({"in": 1, "out": 4})
    assert loss == po.Loss.per_class({"in": 1, "out": 4})
    assert loss != po.Loss.per_class({"in": 1, "out": 5})
    assert loss != 3
    assert loss.__eq__(3) is NotImplemented  # so that the other side is asked


def test_the_reject_label_is_never_a_class():
    classes = ["keep"]
    for label in ("reject", "rejected", "rejected 0"):
        assert po.Loss.zero_one(classes).with_reject(0.1).labels().tolist() == [*classes, label]
        classes.append(label)


@pytest.mark.parametrize("label", [np.array([1, 2]), [1], {}])
def test_a_reject_label_is_one_label(label):
    with pytest.raises(LossError, match="single label"):
        po.Loss.zero_one([0, 1]).with_reject(0.1).labels(label)


def test_losses_of_other_classes_are_not_equal():
    matrix = [[0, 1], [2, 0]]
    one = po.Loss(matrix, classes=["a", "b"])
    assert one == po.Loss(matrix, classes=["a", "b"])
    assert one != po.Loss(matrix, classes=["a", "c"])
    assert one != po.Loss(matrix)
    assert po.Loss(matrix) != one
