"""Model files beside pickle and joblib: seconds to save and to load, and the size.

python benchmarks/bench_store.py
"""

from __future__ import annotations

import hashlib
import pathlib
import pickle
import tempfile
import time

import joblib
import numpy as np

import posteriori as po


def models():
    """Models whose files are large: words, pairs, points, support vectors."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(50_000)])
    text = [" ".join(rng.choice(words, 200)) for _ in range(2000)]
    yield "naive Bayes, 50,000 words × 20", po.NaiveBayes(kinds="text").fit({"t": text}, rng.integers(0, 20, 2000))
    codes = rng.integers(0, 12, (20_000, 60))
    yield "AODE, 60 columns of 12 values", po.AODE(kinds="categorical").fit(codes, rng.integers(0, 10, 20_000))
    points = rng.normal(size=(400_000, 16))
    yield "nearest neighbours, 400,000 × 16", po.KNeighborsClassifier(algorithm="brute").fit(points, points[:, 0] > 0)


def best(call, times: int = 5) -> float:
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return min(found)


def main() -> None:
    block = np.random.default_rng(0).bytes(1 << 26)
    print(f"SHA-256 here: {len(block) / best(lambda: hashlib.sha256(block).digest()) / 1e9:.2f} GB/s\n")
    print("| model | MB | save s | load s | pickle save, load s | joblib save, load s | save, load ÷ pickle |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as room:
        file, other = pathlib.Path(room, "a.posteriori"), pathlib.Path(room, "a.pickle")
        for name, model in models():
            save, load = best(lambda m=model: po.save(m, file)), best(lambda: po.load(file))
            p = best(lambda m=model: other.write_bytes(pickle.dumps(m))), best(lambda: pickle.loads(other.read_bytes()))
            j = best(lambda m=model: joblib.dump(m, other)), best(lambda: joblib.load(other))
            size = file.stat().st_size / 1e6
            print(
                f"| {name} | {size:.0f} | {save:.3f} | {load:.3f} | {p[0]:.3f}, {p[1]:.3f} | {j[0]:.3f}, {j[1]:.3f} | "
                f"{save / p[0]:.1f}, {load / p[1]:.1f} |"
            )


if __name__ == "__main__":
    main()
