"""Support vector machines beside scikit-learn's (libsvm, liblinear) and intelex's: equal tolerance and cache."""

import sys
import warnings

import harness

harness.peers("margin")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn import svm as libsvm  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearnex import svm as intelex  # noqa: E402

import posteriori as po  # noqa: E402
from posteriori.margin.linear_svc import objective  # noqa: E402

warnings.simplefilter("ignore")
COMMAND = "python benchmarks/bench_margin.py"
OPTIONS = {"C": 1.0, "tol": 1e-3, "cache_size": 200}
OURS, LIBSVM, INTELEX, LIBLINEAR = (
    "posteriori",
    "scikit-learn SVC",
    "scikit-learn-intelex SVC",
    "scikit-learn LinearSVC",
)


def two_classes(n, d):
    made = {"n_informative": 20, "n_redundant": 10, "class_sep": 1.3, "flip_y": 0.04, "n_clusters_per_class": 6}
    X, y = make_classification(n, d, random_state=0, **made)
    return X, y


def dual(model, K, y):
    """Σα − ½ΣΣααyyK over the support vectors, K their kernel matrix."""
    beta = model.dual_coef_[0]
    return np.abs(beta).sum() - 0.5 * beta @ K @ beta


def row(work, times, notes):
    peers = [name for name in times if name != OURS]
    cells = "; ".join(f"{name} {harness.human(times[name])} ({times[name] / times[OURS]:.2f}×)" for name in peers)
    return [work, harness.human(times[OURS]), cells, notes]


def kernel_rows():
    X, y = two_classes(40_000, 50)
    X, y, Xt = X[:20_000], y[:20_000], X[20_000:]
    models = {OURS: po.SVC(**OPTIONS), INTELEX: intelex.SVC(**OPTIONS), LIBSVM: libsvm.SVC(**OPTIONS)}
    fit = harness.race({k: lambda m=m: m.fit(X, y) for k, m in models.items()}, 3, 60)
    predict = harness.race({k: lambda m=m: m.predict(Xt) for k, m in models.items()}, 3, 45)
    from sklearn.metrics.pairwise import rbf_kernel

    gamma = 1 / (X.shape[1] * X.var())
    values = {k: dual(m, rbf_kernel(X[m.support_], gamma=gamma), y) for k, m in models.items()}
    same = np.mean(models[OURS].predict(Xt) == models[LIBSVM].predict(Xt))
    notes = (
        f"dual {values[OURS]:.4f} against libsvm's {values[LIBSVM]:.4f}; {len(models[OURS].support_)} support vectors"
    )
    yield row("RBF fit, 20k × 50", fit, notes)
    yield row(f"RBF predict, 20k × {len(models[OURS].support_)}", predict, f"{same:.2%} of predictions equal libsvm's")


def ten_classes():
    made = {"n_informative": 30, "n_redundant": 10, "n_classes": 10, "n_clusters_per_class": 2, "class_sep": 1.0}
    X, y = make_classification(20_000, 64, random_state=0, **made)
    models = {OURS: po.SVC(**OPTIONS), LIBSVM: libsvm.SVC(**OPTIONS)}
    fit = harness.race({k: lambda m=m: m.fit(X, y) for k, m in models.items()}, 3, 40)
    same = np.mean(models[OURS].predict(X[:2000]) == models[LIBSVM].predict(X[:2000]))
    yield row("10 classes one-vs-one, 20k × 64", fit, f"{same:.2%} of predictions equal libsvm's")


def linear_rows():
    X, y = make_classification(500_000, 100, n_informative=40, class_sep=0.5, flip_y=0.05, random_state=0)
    yield linear_row("linear, 500k × 100 dense", X, y)
    random = np.random.default_rng(0)
    n, d, each = 200_000, 50_000, 80
    columns = np.minimum((random.zipf(1.3, (n, each)) - 1) + random.integers(0, 500, (n, each)), d - 1)
    starts = np.arange(0, n * each + 1, each)
    X = sparse.csr_matrix((random.random(n * each) + 0.1, columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    X = sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    y = (X @ random.normal(size=d) + random.normal(size=n) > 0).astype(int)
    yield linear_row("linear, 200k × 50k sparse", X, y)


def linear_row(work, X, y):
    models = {OURS: po.LinearSVC(), LIBLINEAR: libsvm.LinearSVC(dual="auto")}
    fit = harness.race({k: lambda m=m: m.fit(X, y) for k, m in models.items()}, 3, 60)
    sign, C = np.where(y == 1, 1.0, -1.0), np.ones(len(y))
    value = {
        k: objective(X, sign, C, np.append(m.coef_[0], m.intercept_), 1.0, "squared_hinge") for k, m in models.items()
    }
    return row(work, fit, f"objective {value[OURS]:.6g} against liblinear's {value[LIBLINEAR]:.6g}")


PARTS = {"kernel": kernel_rows, "classes": ten_classes, "linear": linear_rows}
chosen = sys.argv[1:] or list(PARTS)
rows = []
for part in chosen:
    for line in PARTS[part]():
        print(line, flush=True)
        rows.append(line)
if len(chosen) == len(PARTS):
    header = ["work", "posteriori", "peers (their time over ours)", "the same answer"]
    harness.record(
        "Support vector machines", COMMAND, header, rows, f"{harness.CORES} cores, C = 1, tol 1e-3, cache 200 MB."
    )
