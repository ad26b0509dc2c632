"""Options that commands share: each says what it is, and every command has an example."""

from __future__ import annotations

import typing

import pytest
import typer

from posteriori.cli import main as options
from posteriori.cli.main import app

SHARED = {name: kind for name, kind in vars(options).items() if typing.get_origin(kind) is typing.Annotated}


@pytest.mark.parametrize("name", SHARED)
def test_an_option_has_words_for_a_person(name):
    (told,) = [m for m in typing.get_args(SHARED[name])[1:] if hasattr(m, "help")]
    assert told.help
    assert told.help.endswith((".", ")"))


def test_no_name_stands_for_two_options():
    names = [d for kind in SHARED.values() for m in typing.get_args(kind)[1:] for d in (m.param_decls or ())]
    twice = {d for d in names if names.count(d) > 1}
    assert twice <= {"--output", "-o", "--target", "-t"}  # of a new file and of a model's; told and the model's own


@pytest.mark.parametrize("command", [c.name or c.callback.__name__ for c in app.registered_commands])
def test_every_command_shows_an_example_and_its_exit_codes(run, command):
    done = run(command, "--help")
    assert done.exit_code == 0
    assert "Example:" in done.stdout
    assert f"posteriori {command}" in done.stdout
    assert "Exit codes" in done.stdout
    assert isinstance(app, typer.Typer)


@pytest.mark.parametrize("value", [None, 1e-9, 0.5, 1.0, 1e300])
def test_a_price_above_nothing_is_taken_as_it_is(value):
    assert options._price(value) == value


@pytest.mark.parametrize("value", [0.0, -0.1, float("inf"), float("nan")])
def test_other_prices_are_refused_with_what_came(value):
    with pytest.raises(typer.BadParameter, match=f"above 0. Got {value:g} instead"):
        options._price(value)
