"""What an error says reads as sentences, with a nearest match and without one."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import PosterioriError, did_you_mean, listed
from posteriori.statistics.cuts import find_cuts
from posteriori.structure.dag import Dag

X, y = {"sky": ["blue", "grey", "blue"], "wind": [1.0, 2.0, 3.0]}, ["out", "in", "out"]
CALLS = {  # a word that is none of those allowed; "near" one of them, or "zzzzzz"
    "parameter": ("mdk", lambda word: po.NaiveBayes(density="binned", prior=word).fit(X, y)),
    "density": ("gausian", lambda word: po.NaiveBayes(density=word).fit(X, y)),
    "declared": ("rbff", lambda word: po.SVC(kernel="linear", multi_class=word).fit(np.eye(3), y)),
    "criterion": ("accurcy", lambda word: po.SPODE(criterion=word).fit(X, y)),
    "kind": ("categorial", lambda word: po.NaiveBayes(kinds={"sky": word}).fit(X, y)),
    "kinds": ("skyy", lambda word: po.NaiveBayes(kinds={word: "text"}).fit(X, y)),
    "weights": ("outt", lambda word: po.NaiveBayes(class_weight={word: 2.0}).fit(X, y)),
    "prior": ("outt", lambda word: po.NaiveBayes(prior={word: 0.5, "in": 0.5}).fit(X, y).predict(X)),
    "columns": ("skyy", lambda word: po.NaiveBayes().fit(X, y).predict({word: ["blue"], "wind": [1.0]})),
    "schema": ("skyy", lambda word: po.NaiveBayes().fit(X, y).schema_[word]),
    "cuts": ("quantil", lambda word: find_cuts(None, word, 3)),
    "score": ("bicc", lambda word: po.learn_structure(X, score=word)),
    "method": ("exakt", lambda word: po.learn_structure(X, method=word)),
    "pattern": ("chainn", lambda word: list(Dag("ab").patterns(word))),
    "node": ("smokee", lambda word: po.networks.asia().marginals({word: "yes"})),
    "state": ("yess", lambda word: po.networks.asia().marginals({"smoke": word})),
    "table": ("skyy", lambda word: po.BayesNet.fit([(word, "wind")], X)),
}


@pytest.mark.parametrize("near", [True, False], ids=["near", "far"])
@pytest.mark.parametrize("what", CALLS)
def test_a_message_reads_as_sentences(what, near):
    word, call = CALLS[what]
    with pytest.raises((ValueError, KeyError, LookupError)) as caught:
        call(word if near else "zzzzzz")
    said = str(caught.value)
    assert "zzzzzz" in said or near
    assert not re.search(r"[.?!;:,] ?[.?!;,]", re.sub(r"\.\.\.|'[^']*'", "x", said)), said  # no two signs in a row
    assert not re.search(r"['\w)] (Got|Columns|Classes|Expected|Ways|The table has)\b", said), (
        said
    )  # a sentence has an end


def test_the_nearest_match_is_named_as_it_is():
    assert did_you_mean("clas", ["class", "glass"]) == "; did you mean 'class'?"
    assert did_you_mean(21, [1, 2, 20, "x"], cutoff=0.4) == "; did you mean 2?"
    assert did_you_mean("abcd", ["abxy"], cutoff=0.5) == "; did you mean 'abxy'?"
    assert did_you_mean("abcd", ["abxy"], cutoff=0.51) == ""
    assert did_you_mean("abcd", ["axyz"]) == ""


@pytest.mark.parametrize("n", [0, 1, 11, 12, 13, 40])
def test_a_list_of_names_is_cut_at_twelve(n):
    said = listed(range(n))
    assert said.startswith(", ".join(map(str, range(min(n, 12)))))
    assert said.endswith(f"… ({n} in all)") == (n > 12)


def test_names_of_any_length_make_a_message_that_can_be_read():
    long = "x" * 20_000_000
    calls = [
        lambda: po.NaiveBayes().fit(X, y).predict({long: ["blue"], "wind": [1.0]}),
        lambda: po.NaiveBayes().fit({long: ["a", "b"]}, ["n", "y"]).predict({"z": ["a"]}),
        lambda: po.NaiveBayes(density=long).fit(X, y),
        lambda: po.Schema.declare({long: "zzz"}),
    ]
    for call in calls:
        with pytest.raises(PosterioriError) as caught:
            call()
        assert len(str(caught.value)) < 2_100
        assert len(str(pickle.loads(pickle.dumps(caught.value)))) < 2_100
    assert str(PosterioriError("a" * 2_000)) == "a" * 2_000
    assert len(listed(["x" * 500] * 3)) < 700
