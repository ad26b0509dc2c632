"""Views: every name leads to its function, and a room below knows no more than the name."""

from __future__ import annotations

import pathlib
import re

import pytest

from posteriori import views
from posteriori.views import Drawing


@pytest.mark.parametrize("name", views.VIEWS)
def test_every_name_leads_to_a_function_and_is_used(name):
    assert callable(views.view(name))
    kind, _, of = name.partition(" of ")
    src = pathlib.Path(views.__file__).parent
    said = re.compile(rf'views\.{kind}\(\s*"{of}"' if of else f'views\\.view\\("{name}"\\)')
    assert any(said.search(file.read_text(encoding="utf-8")) for file in src.rglob("*.py"))


def test_a_drawing_is_saved_and_shown(tmp_path):
    drawing = Drawing("<svg>中</svg>")
    assert drawing._repr_html_() == str(drawing) == "<svg>中</svg>"
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == "<svg>中</svg>"
