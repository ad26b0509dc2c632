"""Network files: every digit survives, every broken file is refused with its place, no file can eat the memory."""

from __future__ import annotations

import gzip
import pathlib
import random
import re
import tracemalloc
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import FormatError, InvalidNetwork
from posteriori.network import formats
from posteriori.network.bayesnet import BayesNet
from posteriori.network.formats import bif
from posteriori.network.formats import text as formats_text
from posteriori.network.formats.text import LONGEST_NAME, MAX_BYTES, Description
from posteriori.network.hybrid import HybridNet
from posteriori.network.net import Net
from posteriori.structure.dag import Dag

SUFFIXES = (".bif", ".xmlbif", ".net", ".uai")

BIF = """network "two coins" { property author nobody; }
// a comment
variable a { type discrete [ 2 ] { yes, no }; property "x = 3"; }
variable b { type discrete [ 3 ] { "0, 1", low, high }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) {
  (yes) 0.1, 0.2, 0.7;
  (no) 0.5, 0.5, 0; /* the
  rest */
}
"""
NET = """net { node_size = (80 40); }
% a comment
node a { states = ("yes" "no"); label = "A; (or not)"; position = (1 2); }
discrete node b { states = ("0, 1" "low" "high"); }
potential (a) { data = (0.25 0.75); }
potential (b | a) { data = ((0.1 0.2 0.7)(0.5 0.5 0)); }
"""
XML = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF (NETWORK)*> ]>
<BIF VERSION="0.3"><NETWORK><NAME>two coins</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME> b </NAME><OUTCOME>0, 1</OUTCOME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>0.1 0.2 0.7 <!-- row --> 0.5 0.5 0</TABLE></DEFINITION>
</NETWORK></BIF>
"""
UAI = "c two coins\nBAYES\n2 # nodes\n2 3\n2\n1 0\n2 0 1\n\n2\n 0.25 0.75\n\n6\n 0.1 0.2 0.7\n 0.5 0.5 0\n"


TABLE = {n: random.Random(n).choices("uvw", k=60) for n in "abcd"}


@pytest.mark.parametrize(("text", "suffix"), [(BIF, ".bif"), (NET, ".net"), (XML, ".xml"), (UAI, ".uai")])
def test_a_file_as_others_write_it(text: str, suffix: str) -> None:
    found = formats.parse(text.encode(), "file" + suffix)
    a, b = ("x0", "x1") if suffix == ".uai" else ("a", "b")
    assert found.states[b] == (("0", "1", "2") if suffix == ".uai" else ("0, 1", "low", "high"))
    assert found.parents == {a: (), b: (a,)}
    assert found.tables[a].tolist() == [0.25, 0.75]
    assert found.tables[b].tolist() == [0.1, 0.2, 0.7, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("seed", range(200))
def test_plain_bif_is_read_in_one_look_as_token_by_token(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tables, or the same refusal in the same place, also of a text in which something was changed."""
    random_ = random.Random(seed)
    text = formats.render(BayesNet.fit([("a", "b"), ("c", "b"), ("b", "d")], TABLE)._description(), ".bif").decode()
    for _ in range(seed // 4):
        at, odd = (
            random_.randrange(len(text)),
            random_.choice(["", ",", " ", "}", "0", '"', "_", "/", ";", "(", "-", "x", "|"]),
        )
        text = text[:at] + odd + text[at + random_.randrange(2) :]

    def told() -> object:
        try:
            found = formats.parse(text.encode(), "x.bif")
        except FormatError as error:
            return str(error)
        return found.name, found.states, found.parents, {n: t.tolist() for n, t in found.tables.items()}

    quick = told()
    never = re.compile(r"(?!)")
    for name in ("VARIABLE", "FAMILY", "ROW"):
        monkeypatch.setattr(bif, name, never)
    assert told() == quick


def test_a_bif_table_lists_the_node_slowest_and_default_fills_rows() -> None:
    head, _ = BIF.split("probability ( b")
    whole = formats.parse((head + "probability (b | a) { table 0.1 0.5 0.2 0.5 0.7 0; }").encode(), "x.bif")
    assert whole.tables["b"].tolist() == [0.1, 0.2, 0.7, 0.5, 0.5, 0.0]
    rest = formats.parse((head + "probability (b | a) { (no) 0 0 1; default 0.2 0.2 0.6; }").encode(), "x.bif")
    assert rest.tables["b"].tolist() == [0.2, 0.2, 0.6, 0.0, 0.0, 1.0]


names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Co", "Cn"]), min_size=1, max_size=8)


@st.composite
def descriptions(draw: st.DrawFn, odd_names: bool = True) -> Description:
    n = draw(st.integers(1, 4))
    nodes = draw(st.lists(names, min_size=n, max_size=n, unique=True)) if odd_names else [f"x{i}" for i in range(n)]
    found = Description(name="some network")
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    for i, node in enumerate(nodes):
        size = draw(st.integers(1, 3))
        states = (
            draw(st.lists(names, min_size=size, max_size=size, unique=True)) if odd_names else map(str, range(size))
        )
        found.states[node] = tuple(states)
        found.parents[node] = tuple(p for p in nodes[:i] if draw(st.booleans()))
        shape = [len(found.states[p]) for p in (*found.parents[node], node)]
        found.tables[node] = rng.dirichlet(np.full(shape[-1], 0.3), int(np.prod(shape[:-1]))).ravel()
    return found


def same(one: Description, two: Description) -> bool:
    return (
        one.states == two.states
        and one.parents == two.parents
        and all(np.array_equal(one.tables[n], two.tables[n]) for n in one.states)
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(data=st.data())
def test_round_trip_keeps_every_digit_and_name(suffix: str, data: st.DataObject) -> None:
    one = data.draw(descriptions(odd_names=suffix != ".uai"))
    assert same(formats.parse(formats.render(one, suffix), "x" + suffix), one)


@pytest.mark.parametrize("suffix", [s + z for s in (*SUFFIXES, ".xml") for z in ("", ".gz")])
def test_network_round_trip_on_disk(suffix: str, tmp_path: pathlib.Path) -> None:
    net = Net._from_description(formats.parse(BIF.encode(), "x.bif"), "x.bif")
    net.write(tmp_path / f"net{suffix}")
    again = Net.read(tmp_path / f"net{suffix}")
    if ".uai" in suffix:
        assert again.nodes == ("x0", "x1")
        assert np.array_equal(again.cpt("x1").to_numpy(), net.cpt("b").to_numpy())
    else:
        assert again == net
        assert again.name == net.name
    assert [p.name for p in tmp_path.iterdir()] == [f"net{suffix}"]


def test_states_become_text_or_are_refused(tmp_path: pathlib.Path) -> None:
    net = Net([], {"a": {1: 0.5, 2: 0.5}})
    net.write(tmp_path / "a.bif")
    assert Net.read(tmp_path / "a.bif").states("a") == ("1", "2")
    with pytest.raises(FormatError, match="not told apart by their text"):
        Net([], {"a": {1: 0.5, "1": 0.5}}).write(tmp_path / "b.bif")
    with pytest.raises(FormatError, match="XML cannot hold"):
        Net([], {"a": {"\0": 1.0}}).write(tmp_path / "b.xml")
    assert [p.name for p in tmp_path.iterdir()] == ["a.bif"]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("bif", "discrete [ 3 ]", "discrete [ 4 ]", r"x.bif, line 4, column 55: expected 4 states of 'b', found 3"),
        ("bif", "discrete [ 3 ]", "discrete [ 2 ]", r"line 4, column 49: expected '}' after the 2 states of 'b'"),
        ("bif", "discrete [ 3 ]", "discrete [ 1000000000 ]", "expected the number of states of at most 65,536"),
        ("bif", "(yes) 0.1, 0.2", "(yess) 0.1, 0.2", "line 7, column 4: 'a' has no state 'yess'; did you mean 'yes'"),
        ("bif", "(no) 0.5, 0.5, 0;", "", "line 9, column 1: the table of 'b' has no row for a=no|no row for a=no"),
        ("bif", "(no)", "(yes)", "the row of 'b' for a=yes is given twice"),
        ("bif", "0.25, 0.75", "0.25, 0.75, 0.1", "expected ';' after 2 numbers of 'a', found '0.1'"),
        ("bif", "0.25, 0.75", "0.25", "expected 2 numbers of 'a', found 1"),
        ("bif", "0.25, 0.75", "0.25, nan", "expected a probability, found 'nan'"),
        ("bif", "0.25, 0.75", "1.25, -0.25", "expected a probability, found '-0.25'"),
        ("bif", "( b | a )", "( b | c )", "expected a declared variable, found 'c'"),
        ("bif", "( b | a )", "( b | b )", "names a variable twice"),
        ("bif", "probability ( a )", "probability ( b )", "expected 3 numbers of 'b', found 2"),
        ("bif", "variable b", "variable a", "variable 'a' is declared twice"),
        ("bif", "type discrete [ 2 ]", "kind discrete [ 2 ]", "expected 'type', 'property' or '}', found 'kind'"),
        (
            "bif",
            "{ yes, no };",
            "{ yes, no }; discrete [ 2 ] { u, v };",
            "expected 'property' or '}', found 'discrete'",
        ),
        ("bif", "property author nobody;", "author nobody;", "expected 'property' or '}', found 'author'"),
        ("bif", "property author nobody;", "property author nobody", "expected ';' at the end of a property"),
        ("bif", "yes, no", "no, no", "lists the state 'no' twice"),
        ("bif", "probability ( a ) { table 0.25, 0.75; }", "", "no table for 'a'"),
        ("bif", "variable a", "decision a", "expected 'network', 'variable' or 'probability', found 'decision'"),
        ("bif", "variable a {", "variable a [", r"line 3, column 12: expected '\{', found '\['"),
        ("bif", "variable a {", "variable {", r"expected the name of a variable, found '\{'"),
        ("bif", "0.25, 0.75", '0.25, "0.75"', "expected a probability, found '\"0.75\"'"),
        ("bif", "(no) 0.5", "default 0 0 1; default 0.5", "the default row of 'b' is given twice"),
        ("bif", "0.75; }", "0.75; } probability ( a ) { table 1, 0; }", "the table of 'a' is given twice"),
        ("net", "discrete node b", "discrete node a", "line 4, column 15: node 'a' is declared twice"),
        ("net", 'states = ("yes" "no");', "states = ();", "variable 'a' has no states"),
        ("net", "(0.25 0.75)", "(0.25 0.75 0.1)", r"expected '\)' or ';' after 2 values, found '0.1'"),
        ("net", "(0.25 0.75)", "(0.25)", "needs 2 = 2 numbers, found 1"),
        ("net", "(0.25 0.75)", "(0.25 0.75))", r"expected a value or ';', found '\)'"),
        ("net", "(0.25 0.75)", "0.25) (0.75", r"expected a value or ';', found '\)'"),
        ("net", "(0.25 0.75)", "(0.25 x)", "expected a probability, found 'x'"),
        ("net", "data = (0.25 0.75);", "", "the potential of 'a' has no data"),
        ("net", "data = (0.25 0.75);", "model_nodes = ();", "found an expression"),
        ("net", "discrete node", "utility", "expected discrete and continuous nodes, found 'utility'"),
        ("net", 'states = ("yes" "no");', "", "node 'a' has no states"),
        ("net", "(b | a)", "(b a)", "several nodes"),
        ("xml", "0.25 0.75", "0.25 0.75 0.1", "needs 2 = 2 numbers, found 3"),
        ("xml", "0.25 0.75", "0.25 x", "expected a probability in the table above, found 'x'"),
        ("xml", "<GIVEN>a</GIVEN>", "<GIVEN>c</GIVEN>", "line 7, column .*expected a declared variable, found 'c'"),
        ("xml", "<FOR>a</FOR>", "", "expected one <FOR> here, found 0"),
        ("xml", "<OUTCOME>no</OUTCOME>", "<OUTCOMES>no</OUTCOMES>", "expected <NAME> or <OUTCOME> .* found <OUTCOMES>"),
        ("xml", "</NETWORK>", "", "line 8, column .*not well-formed XML: mismatched tag"),
        ("xml", 'TYPE="nature"><NAME>a', 'TYPE="utility"><NAME>a', "found 'utility'"),
        ("xml", "[ <!ELEMENT", '[ <!ENTITY e "e"> <!ELEMENT', "line 2, column .*: expected plain XML, found an entity"),
        ("xml", 'version="1.0"', 'version="1.0" encoding="no-such"', "x.xml.*not well-formed XML"),
        ("xml", "<FOR>a</FOR>", "<FOR>c</FOR>", "^x.xml, line 6, column .*: expected a declared variable, found 'c'"),
        ("xml", "<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>", "", "^x.xml: .*no table for 'a'"),
        ("uai", "2 3\n2\n", "2 3\n1\n", "expected 2 functions, one a variable, found 1"),
        ("uai", "\n1 0\n", "\n0\n", "expected a function of at least one variable, found 0"),
        ("uai", "2 3\n", "0 3\n", "variable 'x0' has no states"),
        ("uai", "\n6\n", "\n7\n", "line 13, column 2: .*needs 2 × 3 = 6 numbers, found 7"),
        ("uai", "BAYES", "MARKOV", "expected 'BAYES', found 'MARKOV'"),
        ("uai", "2 3\n", "2 1000000000\n", "at most 65,536, found 1000000000"),
        ("uai", "2 3\n", "2 60000\n", "more than the file can hold numbers for"),
        ("uai", "2 0 1\n", "2 0 7\n", "expected a variable of at most 1, found 7"),
        ("uai", "\n6\n", "\n5\n", "needs 2 × 3 = 6 numbers, found 5"),
        ("uai", "0.5 0.5 0\n", "0.5 0.5 0 1\n", "expected the end of the file, found '1'"),
        ("uai", "0.5 0.5 0\n", "0.5 0.5\n", "expected a probability, found the end of the file"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(name: str, old: str, new: str, message: str) -> None:
    text = {"bif": BIF, "net": NET, "xml": XML, "uai": UAI}[name]
    assert old in text
    with pytest.raises(FormatError, match=message):
        formats.parse(text.replace(old, new, 1).encode(), f"x.{name}")


def test_a_cycle_and_a_wrong_sum_are_told(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.bif"
    path.write_text(BIF.replace("( a ) { table 0.25, 0.75; }", "( a | b ) { default 0.25, 0.75; }"))
    with pytest.raises(FormatError, match=r"x\.bif: the arrows form a cycle: a → b → a"):
        Net.read(path)
    path.write_text(BIF.replace("0.5, 0.5, 0;", "0.5, 0.6, 0;"))
    with pytest.raises(
        FormatError, match=r"the row of 'b' for a=no sums to 1\.1, not 1 \(0, 1: 0\.5, low: 0\.6, high: 0\)"
    ):
        Net.read(path)


def test_rounded_digits_are_kept(tmp_path: pathlib.Path) -> None:
    text = BIF.replace("0.1, 0.2, 0.7", "0.1, 0.2, 0.6999999")
    (tmp_path / "x.bif").write_text(text)
    net = Net.read(tmp_path / "x.bif")
    assert net.cpt("b").iloc[0].tolist() == [0.1, 0.2, 0.6999999]
    assert net._model.tables[1][:3].sum() == pytest.approx(1.0, abs=1e-15)


def test_unknown_suffix_and_broken_gzip(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FormatError, match=r"no network format ends in '\.biff'; did you mean '\.bif'"):
        Net.read(tmp_path / "asia.biff")
    with pytest.raises(FileNotFoundError):
        Net.read(tmp_path / "asia.bif")
    whole = gzip.compress(BIF.encode())
    for broken in (whole[:-20], b"not gzip", whole[:40] + b"\0\1\2" + whole[43:]):
        with pytest.raises(FormatError, match="not a whole gzip file"):
            formats.parse(broken, "x.bif.gz")
    with pytest.raises(FormatError, match="byte 3: expected UTF-8, found 0xff"):
        formats.parse(b"ab\xff", "x.bif")


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE BIF [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
    + "]><BIF><NETWORK><NAME>&j;</NAME></NETWORK></BIF>"
)
HOSTILE = {
    "entities.xml": BOMB.encode(),
    "external.xml": b'<?xml version="1.0"?><!DOCTYPE BIF [<!ENTITY x SYSTEM "file:///etc/passwd">]><BIF>&x;</BIF>',
    "deep.xml": b"<BIF>" * 200_000,
    "deep.net": b"net { x = " + b"(" * 500_000,
    "deep.bif": b"{" * 500_000,
    "states.bif": b"variable a { type discrete [ 1000000000 ] { a, b }; }",
    "digits.bif": b"variable a { type discrete [ " + b"9" * 100_000 + b" ] { a }; }",
    "cells.bif": b"".join(b"variable v%d { type discrete [2] { a, b }; }\n" % i for i in range(200))
    + b"probability ( v0 | " + b", ".join(b"v%d" % i for i in range(1, 40)) + b" ) { default 0.5 0.5; }",
    "cells.uai": b"BAYES 40 " + b"2 " * 40 + b"40 40 " + b" ".join(b"%d" % i for i in range(40)),
    "cells.xml": b"<BIF><NETWORK>"
    + b"".join(b"<VARIABLE><NAME>v%d</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME></VARIABLE>" % i for i in range(200))
    + b"<DEFINITION><FOR>v0</FOR>"
    + b"".join(b"<GIVEN>v%d</GIVEN>" % i for i in range(1, 40))
    + b"<TABLE>0.5</TABLE></DEFINITION></NETWORK></BIF>",
    "word.bif": b"variable " + b"a" * 1_000_000,
    "string.net": b'node a { states = ("' + b"a" * 1_000_000,
    "comment.bif": b"/* " * 500_000,
    "comments.bif": b"property /" * 100_000,
    "quotes.bif": b'"\\"' * 500_000,
    "zeros.uai": b"BAYES 1 2 1 1 0 2 " + b"0 " * 200_000,
    "empty.bif": b"",
    "empty.xml": b"",
    "encoding.xml": b'<?xml version="1.0" encoding="no-such"?><BIF/>',
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_within_bounds(name: str) -> None:
    data = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            formats.parse(data, name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(data) + 4_000_000


def test_a_gzip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_BYTES", 1 << 20)
    with pytest.raises(FormatError, match="more than 1,048,576 bytes"):
        formats.parse(gzip.compress(b" " * (1 << 24)), "x.bif.gz")
    assert MAX_BYTES == 1 << 26


@pytest.mark.parametrize(("text", "suffix"), [(BIF, ".bif"), (NET, ".net"), (XML, ".xml"), (UAI, ".uai")])
def test_mutated_files_are_read_or_refused(text: str, suffix: str) -> None:
    """Seeded fuzz: cut, doubled, swapped and foreign pieces end in a network or a FormatError, never in another error."""
    rng = random.Random(7)
    alphabet = list('{}()[]|,;="<>/&%\\ \n\0é') + ["1e999", "-1", "nan", "9" * 30, "a", "yes", "<GIVEN>b</GIVEN>", "/*"]
    refused = 0
    for _ in range(400):
        piece = text
        for _ in range(rng.randint(1, 4)):
            a, b = sorted(rng.randrange(len(piece) + 1) for _ in range(2))
            kind = rng.randrange(4)
            if kind == 0:
                piece = piece[:a] + piece[min(b, a + 12) :]
            elif kind == 1:
                piece = piece[:a] + rng.choice(alphabet) + piece[a:]
            elif kind == 2:
                piece = piece[:b] + piece[a:b] + piece[b:]
            else:
                piece = piece[:b]
        try:
            Net._from_description(formats.parse(piece.encode(), "x" + suffix), "x" + suffix)
        except FormatError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize(
    ("limit", "at", "said"),
    [
        ("MAX_NODES", 2, "more than 1 variables"),
        ("MAX_STATES", 3, "at most 2"),
        ("MAX_PARENTS", 1, "parents"),
        ("MAX_CELLS", 8, "would hold 8 numbers; at most 7 are read"),
    ],
)
def test_at_a_limit_a_network_is_read_and_beyond_it_refused(monkeypatch, limit, at, said) -> None:
    for module in (formats_text, formats.bif):
        if hasattr(module, limit):
            monkeypatch.setattr(module, limit, at)
    formats.parse(BIF.encode(), "x.bif")
    for module in (formats_text, formats.bif):
        if hasattr(module, limit):
            monkeypatch.setattr(module, limit, at - 1)
    with pytest.raises(FormatError, match=said):
        formats.parse(BIF.encode(), "x.bif")


@pytest.mark.parametrize(
    ("limit", "text", "suffix", "said"),
    [
        ("MAX_STATES", NET, "net", "variable 'b' has 3 states; at most 2 are read"),
        ("MAX_PARENTS", BIF, "bif", "'b' has more than 0 parents"),
        ("MAX_PARENTS", XML, "xml", "'b' has 1 parents; at most 0 are read"),
    ],
)
def test_the_limit_that_is_passed_is_named(monkeypatch, limit, text, suffix, said) -> None:
    monkeypatch.setattr(formats_text, limit, {"MAX_STATES": 2, "MAX_PARENTS": 0}[limit])
    with pytest.raises(FormatError, match=said):
        formats.parse(text.encode(), f"x.{suffix}")


def test_a_file_is_named_by_a_path() -> None:
    with pytest.raises(FormatError, match=r"named by a string or a path\. Got 3\.5 instead"):
        Net.read(3.5)


def test_names_and_parentheses_have_bounds() -> None:
    long, most = "a" * LONGEST_NAME, formats.hugin.DEEPEST
    formats.parse(
        BIF.replace("variable a", f"variable {long}")
        .replace("( a )", f"( {long} )")
        .replace("| a", f"| {long}")
        .encode(),
        "x.bif",
    )
    with pytest.raises(
        FormatError, match=f"expected the name of a variable, found a word of {LONGEST_NAME + 1:,} char"
    ):
        formats.parse(BIF.replace("variable a", f"variable {long}a").encode(), "x.bif")
    formats.parse(NET.replace("(1 2)", "(" * most + ")" * most).encode(), "x.net")
    with pytest.raises(FormatError, match=f"parentheses are nested more than {most} deep"):
        formats.parse(NET.replace("(1 2)", "(" * (most + 1) + ")" * (most + 1)).encode(), "x.net")


def test_long_tokens_are_shown_by_their_beginning() -> None:
    for n, shown in ((40, "x" * 40), (41, "x" * 37 + "…")):
        with pytest.raises(
            FormatError, match=f"line 1, column 1: expected 'network', 'variable' or .*, found '{shown}'"
        ):
            formats.parse(("x" * n).encode(), "x.bif")
    with pytest.raises(FormatError, match=r"at most 65,536, found 1{40}$"):
        formats.parse(b"BAYES 1 " + b"1" * 60, "x.uai")
    with pytest.raises(FormatError, match=f"expected 'BAYES', found '{'M' * 40}' "):
        formats.parse(b"M" * 60, "x.uai")
    with pytest.raises(FormatError, match=f"in the table above, found '{'y' * 40}'"):
        formats.parse(XML.replace("0.25 0.75", "0.25 " + "y" * 50).encode(), "x.xml")
    with pytest.raises(FormatError, match=f"found <{'Z' * 40}>"):
        formats.parse(XML.replace("</NETWORK>", f"<{'Z' * 50}/></NETWORK>").encode(), "x.xml")


def test_whole_numbers_and_probabilities_at_their_borders() -> None:
    pattern = r"(?P<skip>\s+)|(?P<word>[^\s]+)|(?P<string>(?!))|(?P<mark>(?!))"

    def scan(text: str) -> formats_text.Scanner:
        return formats_text.Scanner(text, "x", pattern)

    assert [scan(t).integer("n", 7) for t in ("0", "7", "007")] == [0, 7, 7]
    assert scan("9" * 18).integer("n", 10**18) == 10**18 - 1
    for text, said in (
        ("8", "n of at most 7, found 8"),
        ("1" * 19, "at most 7"),
        ("-1", "expected n"),
        ("²", "expected n"),
    ):
        with pytest.raises(FormatError, match=said):
            scan(text).integer("n", 7)
    with pytest.raises(FormatError, match="of at most"):
        scan("0" * 19).integer("n", 7)  # so many digits are not looked at
    assert [scan(t).number() for t in ("0", "1e-3", "2.5", "1e308")] == [0.0, 1e-3, 2.5, 1e308]
    for text in ("-1e-9", "inf", "1_0", "nan", "x", ""):
        with pytest.raises(FormatError, match="expected a probability, found"):
            scan(text).number()


@pytest.mark.parametrize(
    ("suffix", "bad", "said"),
    [
        ("bif", BIF.replace("(yes) 0.1", "(zzz) 0.1"), r"'a' has no state 'zzz'\. states: 'yes', 'no'"),
        ("bif", BIF.replace("| a )", "| speed )"), r"found 'speed'\. variables: 'a', 'b'"),
        ("bif", BIF.replace("| a )", "| aa )"), r"found 'aa'; did you mean 'a'\? variables"),
        (
            "net",
            NET.replace("discrete node b", "discrete knot b"),
            "expected 'net', 'node' or 'potential', found 'knot'",
        ),
        ("net", NET.replace("discrete node b", "class b"), "expected discrete and continuous nodes, found 'class'"),
    ],
)
def test_what_is_near_is_told_and_what_is_not_is_listed(suffix: str, bad: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        formats.parse(bad.encode(), f"x.{suffix}")


def test_suffixes() -> None:
    found = [formats.suffix_of(n) for n in ("a.BIF", "a.b.net.GZ", "x.uai", "x.bifxml.gz")]
    assert found == [(".bif", False), (".net", True), (".uai", False), (".bifxml", True)]
    with pytest.raises(FormatError, match=r"ends in ''\. formats: '.bif'"):
        formats.suffix_of("gz")


def test_hugin_names_are_fresh_and_come_back() -> None:
    nodes = ("n0", "a b", "node", "n1", "é", "ok_1", "1x", "net")
    one = Description("odd", {n: ("u",) for n in nodes}, {n: () for n in nodes}, {n: np.ones(1) for n in nodes})
    text = formats.render(one, ".net").decode()
    assert [line for line in text.splitlines() if line.startswith("node ")] == [
        "node n0", "node n2", "node n3", "node n1", "node n4", "node ok_1", "node n5", "node n6",
    ]  # fmt: skip
    assert text.count("posteriori_name") == 5
    again = formats.parse(text.encode(), "x.net")
    assert (again.name, tuple(again.states)) == ("odd", nodes)


def test_a_bound_of_bytes_is_inclusive(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    data = BIF.encode()
    (tmp_path / "x.bif").write_bytes(data)
    (tmp_path / "x.bif.gz").write_bytes(gzip.compress(data))
    monkeypatch.setattr(formats, "MAX_BYTES", len(data))
    for name in ("x.bif", "x.bif.gz"):
        assert same(formats.read(tmp_path / name), formats.parse(data, "x.bif"))
    monkeypatch.setattr(formats, "MAX_BYTES", len(data) - 1)
    for name in ("x.bif", "x.bif.gz"):
        with pytest.raises(FormatError, match=r"more than .* bytes"):
            formats.read(tmp_path / name)


def test_the_same_network_gives_the_same_bytes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = formats.parse(BIF.encode(), "x.bif")
    formats.write(one, tmp_path / "a.bif.gz")
    monkeypatch.setattr("time.time", lambda: 1e9)
    formats.write(one, tmp_path / "b.bif.gz")
    assert (tmp_path / "a.bif.gz").read_bytes() == (tmp_path / "b.bif.gz").read_bytes()


def test_bounds_that_the_page_names() -> None:
    assert (formats_text.MAX_BYTES, formats_text.MAX_STATES, formats_text.MAX_CELLS) == (64 * 2**20, 65_536, 2**23)


@pytest.mark.parametrize("where", ["node", "state", "network"])
@pytest.mark.parametrize("letter", [chr(n) for n in (0x1B, 0xD7FF, 0xD800, 0xDFFF, 0xE000)])
def test_half_a_character_is_refused_by_name(where, letter, tmp_path):
    """On both sides of the surrogates: every other letter can be written, read, drawn and printed."""
    node, state, name = (f"a{letter}" if w == where else "a" for w in ("node", "state", "network"))

    def made():
        tables = {node: [0.5, 0.5], "b": [[0.9, 0.1], [0.2, 0.8]]}
        return BayesNet([(node, "b")], tables, {node: [state, "n"]}, name)

    if "\ud800" <= letter <= "\udfff":
        with pytest.raises(InvalidNetwork, match=re.escape(f"{f'a{letter}'!a} holds half a character")) as told:
            made()
        assert str(told.value).encode()
        return
    net = made()
    for suffix in (".bif", ".net", ".bif.gz", *([".xmlbif"] if letter != "\x1b" else [])):
        net.write(tmp_path / f"x{suffix}")
        assert BayesNet.read(tmp_path / f"x{suffix}") == net
    for evidence in (None, {}):
        net.plot(evidence).save(tmp_path / "x.svg")
        ElementTree.parse(tmp_path / "x.svg")
    for told in (net._repr_html_(), net.query(node)._repr_html_(), str(net.cpt(node)), repr(net), repr(net.dag)):
        assert told.encode()


def test_half_a_character_is_no_node_of_a_graph_or_of_a_hybrid_network():
    for make in (
        lambda: Dag(["\udc80"]),
        lambda: HybridNet([], {"a": [1.0]}, {"\udc80": (0, [], 1)}),
        lambda: HybridNet([], {"a": [1.0]}, {}, {"a": ["\udc80"]}),
        lambda: BayesNet.fit(["ab"], {"a": ["\udc80", "x"], "b": [1, 2]}),
    ):
        with pytest.raises(InvalidNetwork, match=r"'\\udc80' holds half a character"):
            make()
