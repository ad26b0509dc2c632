"""Save → load is the model, bit for bit; and it goes on as if it had never been saved."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import safetensors.numpy
from sklearn.base import clone

import posteriori as po
from posteriori.errors import ModelFileError, NotStorable, WriteError
from posteriori.store.file import describe, from_bytes, to_bytes

from .models import ALL, COUNTS, P, X, made, y


def written(model) -> bytearray:
    return bytearray(b"".join(map(bytes, to_bytes(model))))


def asked(model):
    """What a model answers, as arrays."""
    rows = {"note": ["a c", "b"]} if "note" in getattr(model, "feature_names_in_", ()) else X
    if getattr(model, "feature_names_in_", None) is None and hasattr(model, "n_features_in_"):
        rows = P[:, : model.n_features_in_] if model.n_features_in_ == 3 else np.arange(8).reshape(4, 2)
    names = ["predict_proba", "decision_function", "predict", "transform"]
    return [getattr(model, name)(rows) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("name", ALL)
def test_a_loaded_model_is_the_model(name, tmp_path):
    model, file = made(name), tmp_path / "a.posteriori"
    po.save(model, file)
    twin = po.load(file)
    assert type(twin) is type(model)
    assert repr(twin.get_params()) == repr(model.get_params())
    for a, b in zip(asked(twin), asked(model), strict=True):
        np.testing.assert_array_equal(a, b)
    assert written(twin) == file.read_bytes()
    for a, b in zip(asked(pickle.loads(pickle.dumps(twin))), asked(model), strict=True):
        np.testing.assert_array_equal(a, b)
    assert repr(clone(twin)) == repr(clone(model))
    assert written(from_bytes(written(clone(model)))) == written(clone(model))


@pytest.mark.parametrize("name", COUNTS)
def test_a_loaded_model_goes_on_as_if_never_saved(name):
    if name in ("naive text", "naive counts", "naive hidden"):
        rows, labels = ({"note": ["c d", "a"]}, ["x", "y"]) if name == "naive text" else (np.eye(2, dtype=int), [1, 0])
    else:
        rows, labels = X[:20], y[:20]
    if name == "naive hidden":
        pytest.skip("a model with inferred labels learns no more rows")
    model = made(name)
    twin = from_bytes(written(model))
    for each in (model, twin):
        each.partial_fit(rows, labels)
    assert twin.statistics_ == model.statistics_
    for each in (model, twin):
        each.forget(rows, labels)
    assert written(twin) == written(model)
    assert written(model + twin) == written(twin + model)
    assert (model + twin).statistics_ == (model + model).statistics_


def test_rows_that_wait_are_counted_before_saving():
    model = po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1])
    model.partial_fit({"a": "u"}, [1])
    assert from_bytes(written(model)).statistics_.rows.tolist() == [1, 2]


def test_safetensors_reads_the_arrays(tmp_path):
    po.save(made("naive"), tmp_path / "a.posteriori")
    arrays = safetensors.numpy.load_file(tmp_path / "a.posteriori")
    assert len(arrays) == len(describe(tmp_path / "a.posteriori")["arrays"])
    assert all(a.flags.aligned for a in arrays.values())


def test_what_a_file_cannot_hold_is_named(tmp_path):
    class Mine(po.NaiveBayes):
        pass

    with pytest.raises(NotStorable, match="Mine"):
        po.save(Mine(), tmp_path / "a.posteriori")
    with pytest.raises(NotStorable, match="'dict'"):
        po.save({}, tmp_path / "a.posteriori")
    model = po.NaiveBayes()
    model.note = 1
    with pytest.raises(NotStorable, match="'note'"):
        po.save(model, tmp_path / "a.posteriori")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written_or_read_is_named(tmp_path):
    with pytest.raises(WriteError, match="is a folder"):
        po.save(po.NaiveBayes(), tmp_path)
    with pytest.raises(WriteError, match="no folder"):
        po.save(po.NaiveBayes(), tmp_path / "x" / "a.posteriori")
    with pytest.raises(ModelFileError, match="is a folder"):
        po.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file"):
        po.load(tmp_path / "a.posteriori")


def test_every_flipped_bit_is_noticed():
    data = written(po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1]))
    for at in range(len(data)):
        for bit in (0, 3, 5, 7):
            bad = bytearray(data)
            bad[at] ^= 1 << bit
            with pytest.raises(ModelFileError):
                from_bytes(bad)


def test_every_truncation_is_noticed():
    data = written(po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1]))
    for end in range(len(data)):
        with pytest.raises(ModelFileError):
            from_bytes(data[:end])
    with pytest.raises(ModelFileError):
        from_bytes(data + b"\0")
