"""Save → load is the model, bit for bit; and it goes on as if it had never been saved."""

from __future__ import annotations

import json
import pathlib
import pickle
import re
import resource
import signal
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import posteriori as po
from posteriori.bayes.learning import KEEP
from posteriori.errors import ModelError, ModelFileError, NotStorable, WriteError
from posteriori.store.file import describe, from_bytes, summary, to_bytes
from posteriori.store.forms import PUBLIC

from .data.make import ROWS
from .models import ALL, BY_CLASS, COUNTS, ESTIMATORS, C, P, T, X, Z, asked, made, y


def written(model) -> bytearray:
    return bytearray(b"".join(map(bytes, to_bytes(model))))


def shown(model) -> str:
    return re.sub(r" at 0x\w+", "", repr(model.get_params()))


@pytest.mark.parametrize("name", ALL)
def test_a_loaded_model_is_the_model(name, tmp_path):
    model, file = made(name), tmp_path / "a.posteriori"
    po.save(model, file)
    twin = po.load(file)
    assert type(twin) is type(model)
    for a, b in zip(asked(twin), asked(model), strict=True):
        np.testing.assert_array_equal(a, b)
    assert written(twin) == file.read_bytes()
    for a, b in zip(asked(pickle.loads(pickle.dumps(twin))), asked(model), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_has_its_parameters(name):
    model = made(name)
    twin = from_bytes(written(model))
    assert shown(twin) == shown(model)
    assert shown(clone(twin)) == shown(clone(model))
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
        each.forget(rows, labels, keep=KEEP)
    assert written(twin) == written(model)
    assert written(model + twin) == written(twin + model)
    assert (model + twin).statistics_ == (model + model).statistics_


@pytest.mark.parametrize("name", BY_CLASS)
def test_a_loaded_drop_in_goes_on_as_if_never_saved(name):
    model = made(name)
    twin = from_bytes(written(model))
    rows = (P if model.n_features_in_ == 3 else C)[:20]
    rows = pd.DataFrame(rows, columns=list("abc")) if hasattr(model, "feature_names_in_") else rows
    for each in (model, twin):
        each.partial_fit(rows, y[:20]).forget(rows[:10], y[:10], keep=KEEP)
    assert written(twin) == written(model)
    assert written(model + twin) == written(model + model)


@pytest.mark.parametrize("name", ["net", "hybrid"])
def test_a_loaded_network_goes_on_as_if_never_saved(name):
    model = made(name)
    twin = from_bytes(written(model))
    rows = Z[:20] if name == "net" else X[:20]
    nets = [net.partial_fit(rows).forget(rows[:5]) for net in (model, twin)]
    assert written(nets[0]) == written(nets[1])
    assert written(model + twin) == written(model + model)
    assert written(twin.smoothed(0.5)) == written(model.smoothed(0.5))


def test_a_loaded_network_says_how_em_went():
    net = made("net by em")
    twin = from_bytes(written(net))
    assert twin.ascent == net.ascent
    for a, b in zip(twin.ascent.parameters, net.ascent.parameters, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["nearest", "nearest grown", "nearest gower", "regression"])
def test_loaded_neighbours_go_on_as_if_never_saved(name):
    model = made(name)
    twin = from_bytes(written(model))
    rows, labels = (X, y) if "gower" in name else (P, T if name == "regression" else y)
    for each in (model, twin):
        each.partial_fit(rows[:20], labels[:20])
    assert written(twin) == written(model)
    for a, b in zip(asked(twin), asked(model), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_that_wait_are_counted_before_saving():
    model = po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1])
    model.partial_fit({"a": "u"}, [1])
    assert from_bytes(written(model)).statistics_.rows.tolist() == [1, 2]


def test_every_public_class_can_be_a_file():
    classes = {n for n in po.__all__ if isinstance(getattr(po, n), type)}
    assert classes - {"Not"} == set(PUBLIC) - {"OnPoints", "Calibrated"}  # a finding is no model; the leaderboard's own
    assert {type(made(name)).__name__ for name in ALL} == set(PUBLIC)


def test_a_file_imports_the_rooms_of_its_model_alone(tmp_path):
    po.save(made("svc"), tmp_path / "a.posteriori")
    code = f"import sys, posteriori as po; po.load(r'{tmp_path}/a.posteriori'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("posteriori.")}
    assert "margin" in rooms
    assert not rooms & {"neighbors", "network", "mixture", "forest"}


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


DATA = pathlib.Path(__file__).parent / "data"


@pytest.mark.parametrize("name", ["naive", "tan", "forest", "risk"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_files_of_all_formats_are_read(name, number):
    model = po.load(DATA / f"{name}-{number}.posteriori")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.predict_proba(ROWS)
    np.testing.assert_allclose(found, json.loads((DATA / f"posteriors-{number}.json").read_text())[name], rtol=1e-12)
    assert describe(DATA / f"{name}-{number}.posteriori")["format"] == number
    assert len(written(model)) > 0  # what was written before can be written now


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_network_of_any_format_is_read(number):
    assert po.load(DATA / f"asia-{number}.posteriori") == po.networks.asia()


def test_another_format_says_what_to_do(monkeypatch):
    monkeypatch.setattr("posteriori.store.file.FORMAT", 4)
    newer = written(po.NaiveBayes())
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"format 4 of posteriori .*; this one reads up to 3: install"):
        from_bytes(newer)
    monkeypatch.setattr("posteriori.store.file.FORMAT", 0)
    with pytest.raises(ModelFileError, match="no format 0"):
        from_bytes(written(po.NaiveBayes()))


def test_an_error_says_which_version_wrote_the_file(monkeypatch):
    monkeypatch.setattr(po, "__version__", "7.7")
    data = written(made("naive"))
    monkeypatch.undo()
    from_bytes(bytearray(data))  # another version is no error in itself
    data[-1] ^= 1
    with pytest.raises(ModelFileError, match=r"SHA-256.*posteriori '7.7' wrote it"):
        from_bytes(data)


def test_the_same_model_gives_the_same_bytes():
    assert written(made("naive")) == written(made("naive"))
    model = made("naive")
    before = written(model)
    model.predict(X)
    assert written(model) == before


@pytest.mark.parametrize("model", [po.RiskClassifier(LogisticRegression()), po.SVC(kernel=lambda a, b: a @ b.T)])
def test_what_is_not_ours_is_named(model, tmp_path):
    with pytest.raises(NotStorable, match=r"estimator: .*LogisticRegression|kernel: .*function"):
        po.save(model, tmp_path / "a.posteriori")
    with pytest.raises(NotStorable):
        po.save(model.fit([[0.0], [1.0]], [0, 1]), tmp_path / "a.posteriori")


def test_a_full_disk_leaves_the_old_file(tmp_path):
    file, old = tmp_path / "a.posteriori", made("naive")
    po.save(old, file)
    before, limit = file.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    quiet = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        with pytest.raises(WriteError, match="could not be written"):
            po.save(old, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, quiet)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.posteriori"]


def test_what_was_set_after_fitting_is_kept():
    lazy = made("lazy").set_params(lazy=False)
    assert from_bytes(written(lazy)).get_params() == lazy.get_params()
    nearest = made("nearest").set_params(metric="manhattan")
    with pytest.raises(ModelError, match="fit again"):
        written(nearest)


def test_a_loss_in_a_file_comes_along(tmp_path):
    (tmp_path / "loss.csv").write_text("decided,in,out,off\nin,0,5,1\nout,1,0,1\noff,1,1,0\n")
    model = po.RiskClassifier(po.NaiveBayes(), loss=str(tmp_path / "loss.csv")).fit(X, y)
    data = written(model)
    (tmp_path / "loss.csv").unlink()
    twin = from_bytes(data)
    assert twin.loss_.matrix.tolist() == [[0, 1, 5], [1, 0, 1], [1, 1, 0]]
    assert model.loss == str(tmp_path / "loss.csv")


def test_set_output_comes_along():
    model = po.KMeans(2, random_state=0).set_output(transform="pandas").fit(P)
    assert isinstance(from_bytes(written(model)).transform(P), pd.DataFrame)


def test_a_large_vocabulary_loads_within_its_memory():
    words = [f"w{k:06d}" for k in range(60_000)]
    model = po.NaiveBayes(kinds="text").fit({"t": [" ".join(words[:30_000]), " ".join(words[30_000:])]}, [0, 1])
    data = written(model)
    assert from_bytes(bytearray(data)).statistics_ == model.statistics_
    tracemalloc.start()
    from_bytes(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (64 << 20) + 3 * len(data)


def test_arrays_are_written_wide_where_narrow_ones_would_take_too_much_memory(monkeypatch):
    """A list of whole numbers takes forty bytes each, whatever it takes in the file."""
    held = po.Schema.declare({"a": list(range(100, 200_100))})
    narrow = b"".join(map(bytes, to_bytes(held)))
    monkeypatch.setattr("posteriori.store.container.MEGABYTE", 100_000)
    wide = b"".join(map(bytes, to_bytes(held)))
    assert len(wide) > len(narrow) + 700_000
    assert from_bytes(bytearray(wide)) == held


def test_what_could_not_be_loaded_is_not_saved(monkeypatch):
    monkeypatch.setattr("posteriori.store.container.MEGABYTE", 1)
    with pytest.raises(NotStorable, match="could not be loaded again"):
        to_bytes(po.Schema.declare({"a": [f"{k}" for k in range(100_000)]}))


@pytest.mark.parametrize("weight", [1, "auto"])
def test_bins_that_em_settled_on_come_along(tmp_path, weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 2 * (np.arange(60) % 2)[:, None]
    y = np.where(np.arange(60) < 20, np.arange(60) % 2, -1)
    for model in (po.NaiveBayes(unlabelled=-1, unlabelled_weight=weight).fit(X, y), po.MixtureBayes().fit(X, y)):
        po.save(model, tmp_path / "model")
        again = po.load(tmp_path / "model")
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert getattr(again, "unlabelled_weight_", None) == getattr(model, "unlabelled_weight_", None)


def test_a_tree_that_backed_off_otherwise_is_refused(monkeypatch):
    tree = po.BayesTree().fit({"a": ["u", "v", "u", "v"]}, [0, 1, 0, 1])
    for model in (tree, po.RiskClassifier(tree, loss=[[0, 1], [1, 0]]).fit({"a": ["u", "v"] * 6}, [0, 1] * 6)):
        assert from_bytes(bytearray(b"".join(to_bytes(model)))) is not None
        with monkeypatch.context() as then:
            then.setattr("posteriori.store.file.FORMAT", 1)
            old = b"".join(to_bytes(model))
        with pytest.raises(ModelFileError, match="by another rule"):
            from_bytes(bytearray(old))


FEW = {"a": ["u", "v", "v"], "b": [1.0, 2.0, 4.0]}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: po.NaiveBayes(), {"fitted": False}),
        (lambda: po.TAN().fit(FEW, [0, 1, 1]), {"fitted": True, "rows": 3, "columns": 2, "classes": 2}),
        (
            lambda: po.NaiveBayes().fit(FEW, [0, 1, 1], sample_weight=[0.5, 1, 1]),
            {"fitted": True, "rows": 2.5, "columns": 2, "classes": 2},
        ),
        (
            lambda: po.KNeighborsClassifier(1).fit(np.eye(3), [0, 1, 2]),
            {"fitted": True, "columns": 3, "classes": 3},
        ),
        (lambda: po.SVR().fit(np.eye(3), [0.0, 1, 2]), {"fitted": True, "columns": 3}),
        (lambda: po.networks.asia(), {}),
        (lambda: po.BayesNet.fit([("a", "b")], {"a": ["u", "v"], "b": ["x", "y"]}), {"rows": 2}),
        (lambda: po.Schema.declare({"a": "numeric"}), {}),
    ],
)
def test_rows_columns_and_classes_as_far_as_there_are_any(model, said):
    assert summary(model()) == said
    assert all(type(v) in (int, float, bool) for v in said.values())
