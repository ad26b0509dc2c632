"""The faults that `make mutants` puts in: the list made by hand still fits, and the rules find what they should."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("mutants", Path(__file__).parent / "mutants.py")
mutants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutants)

TEXT = '''"""Symbols: 1 < 2."""

TOP = 3


class A:
    size: int = 7

    def f(self, *rest, most=10):
        """0 or 1."""
        if self.size <= most and rest is not None:
            raise ValueError(f"{most + 1}" + "no")
        self.g(1)
        return [-x for x in rest if not x]

    def g(self, one):
        def inner():
            return one * 2000
        return None
'''


@pytest.mark.skipif(not mutants.LIBRARY.exists(), reason="beside an installed wheel there is no source to edit")
def test_the_list_made_by_hand_fits_the_library():
    assert len(mutants.by_hand(("",))) >= 30  # an edit whose place is gone ends the script


@pytest.mark.skipif(not mutants.LIBRARY.exists(), reason="beside an installed wheel there is no source to edit")
def test_the_list_of_equivalent_edits_fits_the_library():
    assert all(mutants.equivalent().values())  # each has its reason


def test_every_edit_is_one_small_fault_of_its_function(monkeypatch):
    monkeypatch.setattr(mutants, "source", lambda file: TEXT)
    found = [(edit.inside, TEXT[edit.start : edit.end], edit.new) for edit in mutants.by_rule("a.py")]
    assert found == [
        ("", "3", "4"),
        ("", "7", "8"),
        ("", "10", "11"),
        ("A.f", "<=", "<"),
        ("A.f", "and", "or"),
        ("A.f", "not", ""),
        ("A.f", "self.g(1)", "pass"),
        ("A.f", "1", "2"),
        ("A.f", "return", "return None;"),
        ("A.f", "-", "+"),
        ("A.f", "in", "not in"),
        ("A.f", "not", ""),
        ("A.g", "return", "return None;"),
        ("A.g", "*", "/"),
        ("A.g", "2000", "200"),
    ]
    assert mutants.Edit("a.py", TEXT.index("TOP"), TEXT.index(" = 3"), "END").text() == TEXT.replace("TOP", "END")


def test_equivalent_are_the_edits_between_the_marks(monkeypatch):
    monkeypatch.setattr(mutants, "source", lambda file: TEXT)
    monkeypatch.setattr(mutants, "LISTS", {"equivalent": {"a.py": [["size «<= most and» rest", "why not"]]}})
    assert {(edit.new, why) for edit, why in mutants.equivalent().items()} == {("<", "why not"), ("or", "why not")}
    for gone in ("size «< most» and", "self«.»g(1)"):
        monkeypatch.setattr(mutants, "LISTS", {"equivalent": {"a.py": [[gone, "gone"]]}})
        with pytest.raises(SystemExit, match=r"no one place|no edit within"):
            mutants.equivalent()


def test_tests_that_read_declarations_are_asked_first():
    known = {
        "tests/a/test_b.py": {"seconds": {"own": 30.0}, "ran": {"a/b.py f": ["own"]}},
        "tests/laws/test_defaults.py": {"seconds": {"reads": 1.0}, "ran": {}},
    }
    assert mutants.judges_of(mutants.Edit("a/b.py", 0, 1, ""), known, False) == (["reads", "own"], 31.0)
    assert mutants.judges_of(mutants.Edit("a/b.py", 0, 1, "", "f"), known, False) == (["own"], 30.0)
