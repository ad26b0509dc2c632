"""Losses as people keep them: any labelled table is read the same way, one that could be read two ways is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import posteriori as po
from posteriori.errors import LossError

SPAM = {"ham": {"ham": 0, "spam": 1}, "spam": {"ham": 10, "spam": 0}}
MATRIX = [[0, 1], [10, 0]]


def test_every_labelled_table_gives_the_same_loss(tmp_path):
    frame = pd.DataFrame(MATRIX, index=["ham", "spam"], columns=["ham", "spam"])
    path = tmp_path / "loss.csv"
    frame.to_csv(path)
    shuffled = frame.loc[["spam", "ham"], ["spam", "ham"]]
    sources = [
        SPAM,
        frame,
        shuffled,
        path,
        str(path),
        pd.read_csv(path),
        pl.read_csv(path),
        pl.read_csv(path).to_arrow(),
    ]
    for source in sources:
        loss = po.Loss.from_table(source).over(["ham", "spam"])
        assert loss == po.Loss(MATRIX, classes=["ham", "spam"]), source


@pytest.mark.parametrize(
    "corner", ["truth", "true", "Actual", r"truth\decided", "actual/predicted", "y_true|y_pred", r"?\decided"]
)
def test_named_axes_turn_the_table(tmp_path, corner):
    path = tmp_path / "loss.csv"
    path.write_text(f"{corner},ham,spam\nham,0,10\nspam,1,0\n", encoding="utf-8")
    assert po.Loss.from_table(path).over(["ham", "spam"]).matrix.tolist() == MATRIX


@pytest.mark.parametrize(
    ("truth", "decided"),
    [
        ("True label", "Predicted label"),
        ("Actual class", "Predicted class"),
        ("Ground truth", "Model output"),
        ("y_true", "y_pred"),
        ("TRUE", "PREDICTION"),
        ("real", "chosen action"),
        ("gold_label", "system decision"),
        ("Reference", "Prediction"),
        ("真实类别", "预测类别"),
        ("实际", "决策"),
        ("正确标签", "判定"),
    ],
)
@pytest.mark.parametrize("only", [None, 0, 1])
def test_axes_by_any_usual_name(tmp_path, truth, decided, only):
    row, column = (truth if only != 1 else None), (decided if only != 0 else None)
    cells = pd.DataFrame([[0, 10], [1, 0]], index=["ham", "spam"], columns=["ham", "spam"])
    turned = cells.rename_axis(index=row, columns=column)
    straight = cells.T.rename_axis(index=column, columns=row)
    for frame in (turned, straight):
        assert po.Loss.from_table(frame).over(["ham", "spam"]).matrix.tolist() == MATRIX
    path = tmp_path / "loss.csv"
    path.write_text(f"{row or ''}\\{column or ''},ham,spam\nham,0,10\nspam,1,0\n", encoding="utf-8")
    assert po.Loss.from_table(path).over(["ham", "spam"]).matrix.tolist() == MATRIX


@pytest.mark.parametrize("name", ["class", "label", "Kunde", "true or predicted", "spam?", "类别", "loss"])
def test_axes_named_otherwise_are_refused_unless_it_makes_no_difference(tmp_path, name):
    frame = pd.DataFrame([[0, 10], [1, 0]], index=pd.Index(["ham", "spam"], name=name), columns=["ham", "spam"])
    with pytest.raises(LossError, match=r"rows='actions' or rows='truth'"):
        po.Loss.from_table(frame)
    frame.to_csv(tmp_path / "loss.csv")
    with pytest.raises(LossError, match=r"names its axes"):
        po.Loss.from_table(tmp_path / "loss.csv")
    assert po.Loss.from_table(frame, rows="truth").matrix.tolist() == MATRIX
    even = pd.DataFrame([[0, 2], [2, 0]], index=frame.index, columns=frame.columns)
    assert po.Loss.from_table(even).matrix.tolist() == [[0, 2], [2, 0]]


def test_a_crosstab_is_turned_by_its_axis_names():
    frame = pd.DataFrame(
        [[0, 10], [1, 0]],
        index=pd.Index(["ham", "spam"], name="actual"),
        columns=pd.Index(["ham", "spam"], name="predicted"),
    )
    assert po.Loss.from_table(frame).matrix.tolist() == MATRIX
    assert po.Loss.from_table(frame.T).matrix.tolist() == MATRIX
    with pytest.raises(LossError, match="rows='actions', but the table names its rows as truth"):
        po.Loss.from_table(frame, rows="actions")
    with pytest.raises(LossError, match="both axes"):
        po.Loss.from_table(frame.rename_axis(columns="true"))


def test_rows_says_which_axis_is_the_truth():
    turned = {"ham": {"ham": 0, "spam": 10}, "spam": {"ham": 1, "spam": 0}}
    assert po.Loss.from_table(turned, rows="truth") == po.Loss.from_table(SPAM)
    with pytest.raises(LossError, match="'actions' or 'truth'"):
        po.Loss.from_table(SPAM, rows="truths")


@pytest.mark.parametrize("text", ["0,1\n10,0\n", "ham,spam\n0,1\n10,0\n"])
def test_an_unlabelled_asymmetric_file_is_refused_with_both_readings(tmp_path, text):
    path = tmp_path / "loss.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LossError) as refused:
        po.Loss.from_table(path)
    a, b = ("'ham'", "'spam'") if "ham" in text else ("class 1", "class 2")
    said = str(refused.value)
    assert (
        f"rows are actions: deciding {a} when the truth is {b} costs 1, deciding {b} when the truth is {a} costs 10"
        in said
    )
    assert (
        f"rows are truths:  deciding {a} when the truth is {b} costs 10, deciding {b} when the truth is {a} costs 1"
        in said
    )
    one = po.Loss.from_table(path, rows="actions", classes=["ham", "spam"])
    other = po.Loss.from_table(path, rows="truth", classes=["ham", "spam"])
    assert one.matrix.tolist() == MATRIX
    assert other.matrix.tolist() == np.transpose(MATRIX).tolist()


def test_an_unlabelled_frame_is_refused_like_a_file():
    with pytest.raises(LossError, match="two ways"):
        po.Loss.from_table(pd.DataFrame(MATRIX))
    with pytest.raises(LossError, match=r"Loss\(matrix\)"):
        po.Loss.from_table(np.array(MATRIX))


def test_an_unlabelled_symmetric_file(tmp_path):
    path = tmp_path / "loss.csv"
    path.write_text("0,1,1\n1,0,1\n1,1,0\n", encoding="utf-8")  # the same under any order of the classes
    assert po.Loss.from_table(path) == po.Loss.zero_one(3)
    path.write_text("0,1,4\n1,0,1\n4,1,0\n", encoding="utf-8")
    with pytest.raises(LossError, match="which class"):
        po.Loss.from_table(path)
    assert po.Loss.from_table(path, classes="abc").matrix[0, 2] == 4
    path.write_text("0,1,4\n1,0,1\n", encoding="utf-8")
    with pytest.raises(LossError, match="2 × 3"):
        po.Loss.from_table(path)


def test_labels_of_a_file_match_numbers(tmp_path):
    path = tmp_path / "loss.csv"
    path.write_text(",10,9\n10,0,1\n9,7,0\n", encoding="utf-8")
    loss = po.Loss.from_table(path).over(np.array([9, 10]))
    assert loss.matrix.tolist() == [[0, 7], [1, 0]]
    assert loss.labels().tolist() == [9, 10]
    with pytest.raises(LossError, match=r"classes=model\.classes_"):
        po.decide([0.5, 0.5], path)
    assert po.decide([0.9, 0.1], path, classes=[9, 10]) == 9


def test_a_reject_row_of_a_table_is_the_reject_action():
    loss = po.Loss.from_table({"reject": {0: 0.5, 1: 2}, **{a: {0: int(a != 0), 1: 5 * int(a != 1)} for a in (0, 1)}})
    assert loss.reject
    assert loss.labels().tolist() == [0, 1, -1]
    assert po.decide([[0.6, 0.4], [1.0, 0.0]], loss).tolist() == [1, 0]
    assert loss.without_reject().with_reject(0.3).matrix[-1].tolist() == [0.3, 0.3]


def test_a_misspelt_row_is_not_taken_for_another_action():
    with pytest.raises(LossError, match=r"a row 'spma'.*did you mean 'spam'\?"):
        po.Loss.from_table({"ham": SPAM["ham"], "spma": SPAM["spam"]})


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is empty"), ("a,b\n1\n", "line 2 of loss.csv has 1 cells"), (",a,b\na,0,x\nb,1,0\n", "'x'")],
)
def test_files_that_are_no_table(tmp_path, text, said):
    path = tmp_path / "loss.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LossError, match=said):
        po.Loss.from_table(path)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_encodings(tmp_path, separator):
    path = tmp_path / "loss.csv"
    lines = [["", "好", "坏"], ["好", "0", "5"], ["坏", "1", "0"]]
    text = "\r\n".join(separator.join(line) for line in lines)
    path.write_bytes(text.encode("utf-8-sig"))
    assert po.Loss.from_table(path).matrix.tolist() == [[0, 5], [1, 0]]
    path.write_bytes(text.encode("gbk"))
    with pytest.raises(LossError, match=r"loss\.csv is not UTF-8"):
        po.Loss.from_table(path)
