"""What was answered before is answered today: models, queries, commands, reports, boards; and every old file is read."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

from posteriori.store.file import from_bytes

from ..store.models import ALL, asked
from .answers import FILES, GOLDENS, PARTS, short

ROOT = pathlib.Path(__file__).parents[2]
KEPT = json.loads(GOLDENS.read_text(encoding="utf-8"))


def same(found, kept):
    """Whether two answers are one: texts to the letter, numbers but for the last digits of another processor."""
    if isinstance(kept, dict):
        return list(found) == list(kept) and all(same(found[k], kept[k]) for k in kept)
    if isinstance(kept, list):
        return len(found) == len(kept) and all(map(same, found, kept))
    if isinstance(kept, float):
        return bool(np.isclose(found, kept, rtol=1e-6, atol=1e-9, equal_nan=True))
    return found == kept


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", PARTS)
def test_answers_are_those_of_before(part):
    found = {
        name: json.loads(json.dumps(short(held), default=str))
        for name, held in PARTS[part]()
        if type(held) is not bytes
    }
    changed = {name: (held, KEPT.get(name)) for name, held in found.items() if not same(held, KEPT.get(name))}
    assert not changed, "\n".join(f"{name}\n  now    {now}\n  before {was}" for name, (now, was) in changed.items())
    assert found


@pytest.mark.parametrize("name", ALL)
def test_files_of_before_answer_as_before(name):
    with zipfile.ZipFile(io.BytesIO(FILES.read_bytes())) as files, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = short(asked(from_bytes(bytearray(files.read(f"{name}.posteriori")))))
    assert same(json.loads(json.dumps(held, default=str)), KEPT[f"model {name}"])


def test_no_bit_depends_on_the_order_of_sets():
    words = [sys.executable, "-m", "tests.goldens.answers", "exact", "models"]
    runs = [
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    ]
    one, two = ([line for line in run.communicate()[0].splitlines() if "file auto" not in line] for run in runs)
    assert len(one) > len(ALL)
    assert one == two
