"""Semi-naive Bayes: pair counts by bitmaps and by increments, AODE and TAN beside Weka and pyAgrum, exact leave-one-out.

Weka is Debian's package `weka` (its own printed times are used); where it is not installed its rows are left out.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from harness import CORES, human, peers, race, record

peers("semi")

import numpy as np  # noqa: E402

import posteriori as po  # noqa: E402
from posteriori.kernels import count_pairs  # noqa: E402

JAR = pathlib.Path("/usr/share/java/weka.jar")
COMMAND = "python benchmarks/bench_semi.py"


def codes(n: int, d: int, values: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Codes in which neighbours and the class are dependent."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    X = rng.integers(0, values, (n, d))
    X[:, 1:] = np.where(rng.random((n, d - 1)) < 0.3, X[:, :-1], X[:, 1:])
    X = np.where(rng.random((n, d)) < 0.15, y[:, None] % values, X)
    return X.astype(np.uint8), y.astype(np.uint8)


def pair_counts() -> None:
    rows = []
    for values, wanted in ((4, 5), (2, 10)):
        X, y = codes(1_000_000, 40, values)
        for layout, data in (("rows", X), ("columns", np.asfortranarray(X))):
            runners = {
                way: lambda way=way, data=data, y=y, values=values: count_pairs(data, [values] * 40, y, 3, way=way)
                for way in ("bitmaps", "scalar")
            }
            best = race(runners, 7, budget=25)
            ratio = best["scalar"] / best["bitmaps"]
            rows.append(
                [str(values), layout, human(best["bitmaps"]), human(best["scalar"]), f"{ratio:.1f}×", f"{wanted}×"]
            )
    header = ["values", "memory order", "bitmaps", "increments", "ratio", "at least"]
    record(f"Pair counts, 1M × 40, 3 classes, {CORES} threads each", COMMAND, header, rows)


def weka(options: list[str], train: pathlib.Path, test: pathlib.Path, memory: str = "6g") -> tuple[float, float]:
    """Weka's own seconds to build and to test."""
    call = ["java", f"-Xmx{memory}", "-cp", str(JAR), *options[:1], "-t", str(train), "-T", str(test), *options[1:]]
    out = subprocess.run(call, capture_output=True, text=True, timeout=280).stdout
    build = re.search(r"Time taken to build model: ([\d.]+)", out)
    tested = re.search(r"Time taken to test model on \w+ data: ([\d.]+)", out)
    if build is None:
        raise RuntimeError(out[-500:])
    return float(build[1]), float(tested[1]) if tested else float("nan")


def write_arff(path: pathlib.Path, X: np.ndarray, y: np.ndarray, values: int) -> None:
    names = ",".join(map(str, range(values)))
    head = [
        "@relation t",
        *(f"@attribute x{j} {{{names}}}" for j in range(X.shape[1])),
        "@attribute class {0,1,2}",
        "@data",
    ]
    with path.open("w") as out:
        out.write("\n".join(head) + "\n")
        np.savetxt(out, np.column_stack([X, y]), fmt="%d", delimiter=",")


def classifiers() -> None:
    X, y = codes(100_000, 40, 4)
    aode = po.AODE(min_frequency=1, kinds="categorical").fit(X, y)
    tan = po.TAN(kinds="categorical")
    runners = {
        "AODE fit": lambda: po.AODE(min_frequency=1, kinds="categorical").fit(X, y),
        "AODE predict": lambda: aode.predict_proba(X),
        "TAN fit": lambda: tan.fit(X, y),
        "pair counts": lambda: count_pairs(X, [4] * 40, y, 3),
        "SPODE fit by leave-one-out": lambda: po.SPODE(kinds="categorical").fit(X, y),
    }
    best = race(runners, 9, budget=40)
    rows = [
        ["TAN fit", human(best["TAN fit"]), "its own pair-count kernel", human(best["pair counts"]),
         f"{best['TAN fit'] / best['pair counts']:.2f}× its time", "≤ 3×"],
        ["exact leave-one-out of 40 super-parents (whole fit)", human(best["SPODE fit by leave-one-out"]),
         "one AODE prediction pass", human(best["AODE predict"]),
         f"{best['SPODE fit by leave-one-out'] / best['AODE predict']:.2f}× its time", "≤ 3×"],
    ]  # fmt: skip
    if JAR.exists() and shutil.which("java"):
        with tempfile.TemporaryDirectory() as folder:
            train = pathlib.Path(folder) / "train.arff"
            write_arff(train, X, y, 4)
            build, tested = weka(["weka.classifiers.bayes.AODE", "-F", "1"], train, train)
            rows.append(_against("AODE fit", best["AODE fit"], "Weka AODE", build, 20))
            rows.append(_against("AODE predict", best["AODE predict"], "Weka AODE", tested, 8))
            search = ["weka.classifiers.bayes.BayesNet", "-D", "-Q", "weka.classifiers.bayes.net.search.local.TAN"]
            estimate = [
                "--",
                "-S",
                "BAYES",
                "-E",
                "weka.classifiers.bayes.net.estimate.SimpleEstimator",
                "--",
                "-A",
                "0.5",
            ]
            build, _ = weka([*search, *estimate], train, train)
            rows.append(_against("TAN fit", best["TAN fit"], "Weka BayesNet, search.local.TAN", build, 1000))
    else:
        print("Weka is not installed (apt-get install weka): its rows are left out")
    header = ["work", "posteriori", "against", "its time", "ratio", "wanted"]
    record("Semi-naive classifiers, 100k × 40, 4 values, 3 classes", COMMAND, header, rows)


def _against(work: str, ours: float, peer: str, theirs: float, wanted: float) -> list[str]:
    return [work, human(ours), peer, human(theirs), f"{theirs / ours:.0f}×", f"≥ {wanted}×"]


def py_agrum() -> None:
    import pyagrum.skbn as skbn
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor

    X, y = codes(20_000, 20, 4)
    start = time.perf_counter()
    peer = skbn.BNClassifier(learningMethod="TAN", type_processor=DiscreteTypeProcessor())
    peer.fit(X, y)
    fitted = time.perf_counter() - start
    part = X[:2000]
    start = time.perf_counter()
    peer.predict(part)
    theirs = fitted + (time.perf_counter() - start) * len(X) / len(part)
    ours = race({"TAN": lambda: po.TAN(kinds="categorical").fit(X, y).predict(X)}, 9)["TAN"]
    rows = [
        ["TAN fit + predict", human(ours), "pyAgrum BNClassifier TAN", human(theirs), f"{theirs / ours:.0f}×", "≥ 100×"]
    ]
    header = ["work", "posteriori", "against", "its time", "ratio", "wanted"]
    note = "pyAgrum predicts 2,000 of the rows; its time for all of them is in proportion."
    record("TAN, 20k × 20, 4 values, 3 classes", COMMAND, header, rows, note)


def growth() -> None:
    rows = []
    for what, shapes in {
        "rows": [(n, 40, 4) for n in (25_000, 50_000, 100_000, 200_000)],
        "columns": [(50_000, d, 4) for d in (10, 20, 40, 80)],
        "values": [(50_000, 20, v) for v in (2, 4, 8, 16, 32)],
    }.items():
        for n, d, v in shapes:
            X, y = codes(n, d, v)
            model = po.AODE(kinds="categorical").fit(X, y)
            best = race(
                {
                    "TAN": lambda X=X, y=y: po.TAN(kinds="categorical").fit(X, y),
                    "AODE": lambda X=X, y=y: po.AODE(kinds="categorical").fit(X, y),
                    "predict": lambda X=X, model=model: model.predict_proba(X),
                },
                3,
                budget=4,
            )
            counts = model.statistics_.joints[0].counts.table.nbytes
            tables = model._parents.theta.nbytes
            rows.append(
                [what, f"{n} × {d}, {v} values", human(best["TAN"]), human(best["AODE"]), human(best["predict"]),
                 f"{counts / 1e6:.2f} MB", f"{tables / 1e6:.2f} MB"]
            )  # fmt: skip
    header = ["grows", "table", "TAN fit", "AODE fit", "AODE predict", "pair counts", "AODE tables"]
    note = (
        "Counting grows with n·d² (by bitmaps also with the values squared, until increments take over), predicting AODE "
        "with n·d²·K, memory with (Σ values)²·K and not with n."
    )
    record("Semi-naive: how time and memory grow", COMMAND, header, rows, note)


PARTS = {"pairs": pair_counts, "classifiers": classifiers, "pyagrum": py_agrum, "growth": growth}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
