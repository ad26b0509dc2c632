"""The main job in one go: two tables, from rows to a posterior, a decision, and what changes when rows come and go."""

from __future__ import annotations

import pathlib

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import posteriori as po

HERE = pathlib.Path(__file__).parent


def title(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def melons() -> None:
    title("17 melons: mixed columns, one model")
    table = po.read(HERE / "data" / "melons.csv", target="good")
    print(table)
    model = po.NaiveBayes(kinds=table.schema).fit(table.X, table.y)
    print("\nwhat each column tells of the class:")
    print(model.summary().to_string(index=False, float_format="{:.3f}".format))
    melon = table.X.iloc[0].to_dict()
    p = {str(c): round(float(q), 4) for c, q in zip(model.classes_, model.predict_proba(melon)[0])}
    print(f"\nthe first melon: {melon}\nP(good | melon) = {p}")
    print("\nwhy (log-odds by attribute):")
    print(model.explain(melon))
    model.forget(table.X[10:], table.y[10:])
    again = po.NaiveBayes(kinds=table.schema).fit(table.X[:10], table.y[:10])
    same = np.allclose(model.predict_proba(table.X), again.predict_proba(table.X))
    print(f"\nforgetting seven melons equals never having seen them: {same}")


def cancer() -> None:
    title("569 tumours: decisions of least risk")
    data = load_breast_cancer(as_frame=True)
    truth = data.target.map({0: "malignant", 1: "benign"})
    train, test, y_train, y_test = train_test_split(data.data, truth, random_state=0, stratify=truth)
    model = po.NaiveBayes().fit(train, y_train)
    print(f"accuracy by the most probable class: {model.score(test, y_test):.3f}")
    costs = {"malignant": 20, "benign": 1}
    careful = po.RiskClassifier(po.NaiveBayes(), loss=costs, reject=0.5, calibration="temperature", cv=5).fit(
        train, y_train
    )
    print("a missed tumour costs 20 false alarms, a second look half of one:")
    for how, answer in (("the most probable class", model.predict(test)), ("the least risk", careful.predict(test))):
        missed = int(((answer == "benign") & (y_test == "malignant")).sum())
        alarms = int(((answer == "malignant") & (y_test == "benign")).sum())
        again = int((answer == "reject").sum())
        cost = 20 * missed + alarms + 0.5 * again
        print(f"  {how:24s} {missed} missed, {alarms:2d} false alarms, {again:2d} second looks: cost {cost:.2f}")


if __name__ == "__main__":
    melons()
    cancer()
