"""Dag: separation against the moralised ancestral graph, equivalence against enumeration, sizes that break recursion."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import InvalidNetwork, UnknownColumn
from posteriori.structure.dag import Dag

ASIA = Dag(
    ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"],
    [
        ("asia", "tub"),
        ("smoke", "lung"),
        ("smoke", "bronc"),
        ("lung", "either"),
        ("tub", "either"),
        ("either", "xray"),
        ("bronc", "dysp"),
        ("either", "dysp"),
    ],
)


@st.composite
def dags(draw: st.DrawFn, most: int = 8) -> Dag:
    n = draw(st.integers(2, most))
    order = draw(st.permutations(range(n)))
    chosen = [pair for pair in itertools.combinations(range(n), 2) if draw(st.booleans())]
    return Dag([f"x{i}" for i in range(n)], [(f"x{order[a]}", f"x{order[b]}") for a, b in chosen])


def test_kinship() -> None:
    assert ASIA.parents("either") == ("lung", "tub")
    assert ASIA.children("smoke") == ("lung", "bronc")
    assert ASIA.ancestors("xray") == ("asia", "tub", "smoke", "lung", "either")
    assert ASIA.descendants("lung") == ("either", "xray", "dysp")
    assert ASIA.markov_blanket("lung") == ("tub", "smoke", "either")
    assert set(ASIA.ancestral_graph("tub").nodes) == {"asia", "tub"}
    order = ASIA.topological_order()
    assert all(order.index(a) < order.index(b) for a, b in ASIA.edges)


@given(dags())
def test_order_puts_parents_first(dag: Dag) -> None:
    place = {n: i for i, n in enumerate(dag.topological_order())}
    assert sorted(place) == sorted(dag.nodes)
    assert all(place[a] < place[b] for a, b in dag.edges)


@given(dags(), st.data())
def test_d_separation_is_separation_in_the_moral_ancestral_graph(dag: Dag, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.sampled_from("abg-"), min_size=len(dag.nodes), max_size=len(dag.nodes)))
    a, b, known = ([n for n, label in zip(dag.nodes, labels, strict=True) if label == which] for which in "abg")
    moral = dag.ancestral_graph([*a, *b, *known]).moral_graph()
    assert dag.d_separated(a, b, known) == moral.separated(a, b, known)


@given(dags(), st.data())
def test_connecting_path_is_open(dag: Dag, data: st.DataObject) -> None:
    nodes = data.draw(st.permutations(dag.nodes))
    a, b, known = nodes[0], nodes[1], set(nodes[2 : 2 + data.draw(st.integers(0, len(nodes) - 2))])
    trail = dag.connecting_path(a, b, known)
    assert (trail is None) == dag.d_separated(a, b, known)
    if trail is None:
        return
    assert (trail.nodes[0], trail.nodes[-1]) == (a, b)
    assert len(set(trail.nodes)) == len(trail.nodes)
    for left, middle, right in zip(trail.nodes, trail.nodes[1:], trail.nodes[2:]):
        pattern = dag.pattern(left, middle, right)
        assert pattern is not None
        if pattern.kind == "V-structure":
            assert known & {middle, *dag.descendants(middle)}
        else:
            assert middle not in known


def test_trail_is_printed_with_arrows() -> None:
    assert str(ASIA.connecting_path("asia", "smoke", "dysp")) == "asia → tub → either ← lung ← smoke"
    assert ASIA.connecting_path("asia", "smoke") is None


def test_known_nodes_depend_on_nothing() -> None:
    assert ASIA.d_separated("tub", "asia", "asia")
    assert not ASIA.d_separated("tub", "tub")


@given(dags(), st.data())
def test_minimal_separator(dag: Dag, data: st.DataObject) -> None:
    a, b = data.draw(st.permutations(dag.nodes))[:2]
    found = dag.minimal_separator(a, b)
    adjacent = (a, b) in dag.edges or (b, a) in dag.edges
    assert (found is None) == adjacent
    if found is not None:
        assert dag.d_separated(a, b, found)
        for k in range(len(found)):
            assert not any(dag.d_separated(a, b, part) for part in itertools.combinations(found, k))


def test_patterns() -> None:
    assert ASIA.pattern("lung", "smoke", "bronc").kind == "common parent"
    assert ASIA.pattern("lung", "either", "tub").kind == "V-structure"
    assert ASIA.pattern("asia", "tub", "either").kind == ASIA.pattern("either", "tub", "asia").kind == "chain"
    assert ASIA.pattern("asia", "smoke", "lung") is None
    assert {(p.a, p.middle, p.c) for p in ASIA.patterns("V-structure")} == {
        ("lung", "either", "tub"),
        ("bronc", "dysp", "either"),
    }
    shielded = Dag("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    assert [p.shielded for p in shielded.patterns()] == [True] * 3
    with pytest.raises(InvalidNetwork, match="did you mean 'chain'"):
        list(ASIA.patterns("chains"))


@given(dags())
def test_each_pattern_says_what_its_table_says(dag: Dag) -> None:
    for p in dag.patterns():
        if not p.shielded:
            separator = dag.minimal_separator(p.a, p.c)
            assert separator is not None
            assert (p.middle in separator) == (p.kind != "V-structure")


def orientations(dag: Dag) -> list[Dag]:
    """Every DAG with the same adjacent pairs."""
    found = []
    for turns in itertools.product([False, True], repeat=len(dag.edges)):
        edges = [(b, a) if t else (a, b) for t, (a, b) in zip(turns, dag.edges, strict=True)]
        try:
            found.append(Dag(dag.nodes, edges))
        except InvalidNetwork:
            continue
    return found


@given(dags(most=5))
def test_equivalence_class_against_enumeration(dag: Dag) -> None:
    triples = [
        (a, b, known)
        for a, b in itertools.combinations(dag.nodes, 2)
        for k in range(len(dag.nodes) - 1)
        for known in itertools.combinations([n for n in dag.nodes if n not in (a, b)], k)
    ]
    holds = [dag.d_separated(*t) for t in triples]
    same = [other for other in orientations(dag) if [other.d_separated(*t) for t in triples] == holds]
    always = {e for e in dag.edges if all(e in other.edges for other in same)}
    cpdag = dag.equivalence_class()
    assert set(cpdag.directed) == always
    assert set(cpdag.directed) | set(cpdag.undirected) == set(dag.edges)
    assert all(dag.equivalent_to(other) for other in same)
    assert sum(dag.equivalent_to(other) for other in orientations(dag)) == len(same)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "the arrows form a cycle: a → b → c → a"),
        ([("a", "a")], "the arrows form a cycle: a → a"),
        ([("a", "z")], "names an unknown node 'z'"),
        ([("a", "b"), ("a", "b")], "the arrow a → b is given twice"),
    ],
)
def test_no_dag(edges: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(InvalidNetwork, match=message):
        Dag("abc", edges)
    with pytest.raises(InvalidNetwork, match="listed twice"):
        Dag("aab")
    with pytest.raises(InvalidNetwork, match="is a string, got 3"):
        Dag([3])  # type: ignore[list-item]


def test_unknown_node_names_the_nearest() -> None:
    with pytest.raises(UnknownColumn, match="no node 'smok'; did you mean 'smoke'"):
        ASIA.parents("smok")


def test_a_long_chain_is_no_problem() -> None:
    n = 100_000
    names = [f"x{i}" for i in range(n)]
    chain = Dag(names, list(itertools.pairwise(names)))
    assert len(chain.ancestors(names[-1])) == n - 1
    assert not chain.d_separated(names[0], names[-1])
    assert chain.d_separated(names[0], names[-1], names[n // 2])
    assert len(chain.connecting_path(names[-1], names[0]).nodes) == n
    assert chain.minimal_separator(names[0], names[2]) == ("x1",)
    assert len(chain.equivalence_class().undirected) == n - 1
    assert len(chain.moral_graph().edges) == n - 1
    with pytest.raises(InvalidNetwork, match="100000 nodes in all"):
        Dag(names, [*itertools.pairwise(names), (names[-1], names[0])])


def test_is_a_value() -> None:
    again = Dag(ASIA.nodes[::-1], ASIA.edges[::-1])
    assert again == ASIA
    assert hash(again) == hash(ASIA)
    assert pickle.loads(pickle.dumps(ASIA)) == ASIA
    assert (ASIA == "asia") is False
    assert Dag.from_parents({n: ASIA.parents(n) for n in ASIA.nodes}) == ASIA
    with pytest.raises(AttributeError):
        ASIA.nodes = ()  # type: ignore[misc]


def test_to_networkx() -> None:
    nx = pytest.importorskip("networkx")
    assert nx.is_directed_acyclic_graph(ASIA.to_networkx())
    alone = Dag("abc", [("b", "a")]).to_networkx()
    assert (list(alone.nodes), list(alone.edges)) == (["a", "b", "c"], [("b", "a")])
    assert ASIA.moral_graph().to_networkx().has_edge("tub", "lung")


@pytest.mark.parametrize("size", [1, 2, 2**31 - 1])
def test_sizes_of_nodes_are_counts_of_states(size):
    assert Dag("ab", [("a", "b")]).triangulation({"a": size, "b": 1}).order


@pytest.mark.parametrize("size", [0, -1, 2**31, 2.0, "2", None])
def test_other_sizes_are_refused(size):
    with pytest.raises(InvalidNetwork, match="sizes is a mapping from each node to its number of states"):
        Dag("ab", [("a", "b")]).triangulation({"a": size, "b": 1})
    with pytest.raises(InvalidNetwork, match="sizes is a mapping"):
        Dag("ab", [("a", "b")]).triangulation([2, size])


@given(dags(most=6))
def test_a_triangulation_fills_in_until_every_circle_has_a_chord(dag: Dag) -> None:
    found = dag.triangulation()
    moral = {frozenset(e) for e in dag.moral_graph().edges}
    filled = {frozenset(e) for e in found.fill}
    assert not moral & filled
    near = {n: {m for e in moral for m in e if n in e and m != n} for n in dag.nodes}
    added = set()
    for n in found.order:
        added |= {frozenset(pair) for pair in itertools.combinations(near[n], 2) if pair[1] not in near[pair[0]]}
        for m in near[n]:
            near[m] = (near[m] | near[n]) - {m, n}
    assert filled == added
    joined = {frozenset(pair) for clique in found.cliques for pair in itertools.combinations(clique, 2)}
    assert joined == moral | filled
    place = dag.index
    assert all([place[n] for n in c] == sorted(place[n] for n in c) for c in found.cliques)
    assert all(place[a] < place[b] for a, b in found.fill)


def test_states_weigh_on_the_order() -> None:
    """A square of a, b, c, d: the chord joins the two of fewer states."""
    square = Dag("abcdefgh", [(p, c) for c, two in zip("efgh", ("ab", "bc", "cd", "da")) for p in two])
    sizes = dict.fromkeys("efgh", 2)
    assert square.triangulation(sizes | {"a": 9, "c": 9, "b": 2, "d": 2}).fill == (("b", "d"),)
    assert square.triangulation(sizes | {"a": 2, "c": 2, "b": 9, "d": 9}).fill == (("a", "c"),)


@given(dags(), st.data())
def test_kinship_is_what_the_arrows_say(dag: Dag, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from(dag.nodes))
    assert dag.parents(node) == tuple(a for a, b in dag.edges if b == node)
    assert dag.children(node) == tuple(b for a, b in dag.edges if a == node)
    above = {node}
    for _ in dag.nodes:
        above |= {a for a, b in dag.edges if b in above}
    assert set(dag.ancestors(node)) == above - {node}
    assert list(dag.ancestors(node)) == sorted(dag.ancestors(node), key=dag.index.get)
    assert all((node in dag.ancestors(n)) == (n in dag.descendants(node)) for n in dag.nodes)
    kept = dag.ancestral_graph(node)
    assert set(kept.nodes) == above
    assert set(kept.edges) == {e for e in dag.edges if set(e) <= above}
    rest = [n for n in dag.nodes if n != node and n not in dag.markov_blanket(node)]
    assert not rest or dag.d_separated(node, rest, dag.markov_blanket(node))
    for n in dag.markov_blanket(node):
        others = [m for m in dag.markov_blanket(node) if m != n]
        assert not dag.d_separated(node, n, others)


@pytest.mark.parametrize("n", [24, 25])
def test_long_circles_are_told_in_short(n: int) -> None:
    names = [f"x{i:02d}" for i in range(n - 1)]
    with pytest.raises(InvalidNetwork) as error:
        Dag(names, [*itertools.pairwise(names), (names[-1], names[0])])
    told = [*names, names[0]]
    short = [*told[:20], f"… ({n - 1} nodes in all)", *told[-2:]]
    assert str(error.value) == "the arrows form a cycle: " + " → ".join(told if n <= 24 else short)


def test_what_is_no_graph_is_said() -> None:
    for edges in ([("a",)], [3], [("a", "b", "c")]):
        with pytest.raises(InvalidNetwork, match="a list of nodes and of arrows"):
            Dag("abc", edges)
    for family in ({"a": "b", "b": []}, {"a": 3}, [("a", "b")]):
        with pytest.raises(InvalidNetwork, match="a mapping from each node to the list of its parents"):
            Dag.from_parents(family)
    with pytest.raises(InvalidNetwork, match="expected a Dag to compare with, got str"):
        ASIA.equivalent_to("asia")
    assert not ASIA.equivalent_to(Dag("ab"))
    with pytest.raises(InvalidNetwork, match="the arrow a → bb names an unknown node 'bb'; did you mean 'b'"):
        Dag("ab", [("a", "bb")])
