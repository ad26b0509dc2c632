"""Support vector machines over a grid of shapes, beside scikit-learn's (libsvm, liblinear) and intelex's, by turns."""

import sys
import warnings

import harness

harness.peers("margin")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn import svm as peers  # noqa: E402
from sklearn.datasets import make_classification, make_regression  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearnex import svm as intelex  # noqa: E402

import posteriori as po  # noqa: E402
from posteriori.margin.linear import objective  # noqa: E402

warnings.simplefilter("ignore")
OURS, PEER, INTELEX = "posteriori", "scikit-learn", "scikit-learn-intelex"
AT_LEAST = {PEER: {"kernel": 4.0, "classes": 3.0, "sparse": 3.0, "linear": 2.0, "svr": 4.0}, INTELEX: {"kernel": 1.5}}


def classes(n, d, k=2):
    made = {"n_informative": d // 2, "n_redundant": d // 4, "n_classes": k, "n_clusters_per_class": 2, "flip_y": 0.08}
    X, y = make_classification(n, d, random_state=0, **made)
    return StandardScaler().fit_transform(X), y


def text(n, d, each):
    random = np.random.default_rng(0)
    columns = np.minimum((random.zipf(1.3, (n, each)) - 1) + random.integers(0, d // 10, (n, each)), d - 1)
    values = random.random(n * each) + 0.1
    X = sparse.csr_matrix((values, columns.ravel(), np.arange(0, n * each + 1, each)), shape=(n, d))
    X.sum_duplicates()
    return X, (X @ random.normal(size=d) + 0.5 * random.normal(size=n) > 0).astype(int)


def one_hot(n, d):
    random = np.random.default_rng(0)
    sizes = np.full(d // 7, 7)
    X = np.concatenate([np.eye(s)[random.integers(0, s, n)] for s in sizes], axis=1)
    return X, X @ random.normal(size=X.shape[1]) + 0.3 * random.normal(size=n)


def kernel_cells():
    for n, d, C in (
        (12_000, 40, 1),
        (12_000, 40, 10),
        (5_000, 20, 100),
        (3_000, 20, 1000),
        (2_000, 5, 1),
        (8_000, 100, 1),
    ):
        models = {OURS: po.SVC(C=C), PEER: peers.SVC(C=C), INTELEX: intelex.SVC(C=C)}
        yield f"SVC rbf {n} × {d}, C = {C}", models, *classes(n, d)


def class_cells():
    for n, d, k in ((6_000, 64, 10), (3_000, 20, 5)):
        yield f"SVC rbf {n} × {d}, {k} classes", {OURS: po.SVC(), PEER: peers.SVC()}, *classes(n, d, k)


def sparse_cells():
    X, y = text(3_000, 5_000, 50)
    for kernel in ("rbf", "linear"):
        models = {OURS: po.SVC(kernel=kernel), PEER: peers.SVC(kernel=kernel)}
        yield f"SVC {kernel} 3000 × 5000 sparse", models, X, y


def linear_cells():
    for n, d, each in ((15_000, 8_000, 32), (20_000, 10_000, 60)):
        X, y = text(n, d, each)
        for C in (0.02, 1.0, 50.0):
            models = {OURS: po.LinearSVC(C=C), PEER: peers.LinearSVC(C=C, max_iter=100_000)}
            yield f"LinearSVC {n} × {d} sparse, C = {C:g}", models, X, y
    models = {kind: make.LinearSVC(C=100, loss="hinge", max_iter=20_000) for kind, make in ((OURS, po), (PEER, peers))}
    yield "LinearSVC 15000 × 8000 sparse, hinge, C = 100", models, *text(15_000, 8_000, 32)


def svr_cells():
    X, y = make_regression(6_000, 10, noise=5, random_state=0)
    yield "SVR rbf 6000 × 10", {OURS: po.SVR(), PEER: peers.SVR()}, X, y / y.std()
    yield "SVR rbf 8000 × 105 one-hot", {OURS: po.SVR(), PEER: peers.SVR()}, *one_hot(8_000, 105)


def agreement(models, X, y):
    """How near the answers are: the objective of linear machines, else the predictions."""
    ours, peer = models[OURS], models[PEER]
    if isinstance(ours, po.LinearSVC):
        sign, C = np.where(y == 1, 1.0, -1.0), np.full(len(y), float(ours.C))
        value, best = (objective(X, sign, C, np.append(m.coef_[0], m.intercept_), 1.0, ours.loss) for m in (ours, peer))
        return f"objective {value:.6g} against {best:.6g}"
    a, b = ours.predict(X[:1000]), peer.predict(X[:1000])
    return f"f within {np.abs(a - b).max():.2g}" if isinstance(ours, po.SVR) else f"{np.mean(a == b):.1%} equal"


PARTS = {
    "kernel": kernel_cells,
    "classes": class_cells,
    "sparse": sparse_cells,
    "linear": linear_cells,
    "svr": svr_cells,
}
ratios: dict[str, list[float]] = {}
for part in sys.argv[1:] or PARTS:
    for work, models, X, y in PARTS[part]():
        times = harness.race({name: lambda m=m, X=X, y=y: m.fit(X, y) for name, m in models.items()}, 3, 60)
        cells = []
        for name in times:
            if name != OURS:
                ratio = times[name] / times[OURS]
                ratios.setdefault(name, []).append(ratio)
                wanted = AT_LEAST[name].get(part, 1.0)
                cells.append(f"{name} {harness.human(times[name])} ({ratio:.2f}×{'' if ratio >= wanted else ' !'})")
        print(f"{work}: {harness.human(times[OURS])}; {'; '.join(cells)}; {agreement(models, X, y)}", flush=True)
for name, found in ratios.items():
    print(f"{name}: median {np.median(found):.2f}×, worst cell {min(found):.2f}×")
