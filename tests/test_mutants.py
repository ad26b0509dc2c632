"""The faults that `make mutants` puts in: each of the list made by hand still has its one place in the library."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def test_the_list_made_by_hand_fits_the_library():
    spec = importlib.util.spec_from_file_location("mutants", Path(__file__).parent / "mutants.py")
    mutants = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = mutants  # its dataclass looks itself up
    spec.loader.exec_module(mutants)
    if not mutants.LIBRARY.exists():  # beside an installed wheel there is no source to edit
        return
    counts = {(file, old): (mutants.LIBRARY / file).read_text().count(old) for file, old, _ in mutants.BY_HAND}
    assert [place for place, n in counts.items() if n != 1] == []
