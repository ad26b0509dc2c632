"""`query` a network, learn the `structure` of a table."""

from __future__ import annotations

import json
import math
import pathlib
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from ..drafts import whole_file
from ..errors import BadParameter, BadValue, UnknownColumn, counted, did_you_mean, listed
from ..network.formats import suffix_of
from ..store.file import save
from ..table.dates import DAY, WEEKDAYS, weekdays_in
from ..table.schema import MEASURED
from .guard import cut, plain
from .models import inner
from .render import busy, console, line

if TYPE_CHECKING:
    from .main import Query, Structure

BAR = 30


def run_query(options: Query) -> None:
    """P(state | evidence) as bars; with --next the question that tells most of the target."""
    net, bins = open_network(options.network)
    target, ask_next, found = options.target, options.next, told_evidence(net, options.evidence, bins)
    if ask_next and target is None:
        raise BadParameter("--next needs a --target: the question that tells most of what?")
    if target is not None and target not in net.nodes:
        raise UnknownColumn(f"no node {target!r}{did_you_mean(target, net.nodes) or '.'} Nodes: {listed(net.nodes)}")
    shown = net.marginals(found)
    worth = net.value_of_information(target, found) if ask_next and target is not None else {}
    if options.json:
        chosen = {target: shown[target]} if target else shown
        states = {n: {_state(n, s, bins): p for s, p in marginal.items()} for n, marginal in chosen.items()}
        told = {
            "evidence": {n: _state(n, s, bins) for n, s in found.items()},
            "probability": net.probability(found),
            "nodes": states,
        }
        print(json.dumps({**told, **({"next": worth} if ask_next else {})}, ensure_ascii=False))
        return
    out = console()
    if found:
        said = ", ".join(f"{n} = {_state(n, s, bins)}" for n, s in found.items())
        line(out, f"given {said} (probability {net.probability(found):.4g})", "bold")
    for node in [target] if target else [n for n in net.nodes if n not in found]:
        _bars(out, node, {_state(node, s, bins): p for s, p in shown[node].items()})
    if ask_next:
        _say_next(out, target, worth)


@dataclass(frozen=True)
class Bins:
    """The states of a number that was cut: where, and what they are called."""

    cuts: Any
    labels: tuple[str, ...]
    dates: bool


def open_network(path: str) -> tuple[Any, dict[str, Bins]]:
    """(a network from a file of any format, or from a model file; the nodes of it whose states are bins)."""
    if path.endswith(".posteriori"):
        from ..explain.whatif import bin_labels
        from ..store.file import load
        from ..table.dates import dates_in

        model = load(path)
        model = inner(model) if hasattr(model, "predict_proba") else model
        net = getattr(model, "net_", model)
        if not hasattr(net, "marginals"):
            raise BadValue(f"{path} holds a {type(net).__name__}, which is no network")
        if hasattr(net, "continuous"):
            raise BadValue(f"{path} holds a {type(net).__name__}, whose numbers have no states: use it from Python")
        dates = dates_in(getattr(model, "schema_", None))
        cuts = getattr(model, "cuts_", {}) if net is not model else {}
        found = {n: Bins(c, bin_labels(c, n in dates), n in dates) for n, c in cuts.items()}
        found |= {n: Bins(np.arange(1, 7), WEEKDAYS, False) for n in weekdays_in(dates) if n not in cuts}
        return net, {n: bins for n, bins in found.items() if n in net.nodes}
    from ..network.bayesnet import BayesNet

    return BayesNet.read(path), {}


def _state(node: str, state: Any, bins: dict[str, Bins]) -> str:
    """A state by its name; a bin by its range."""
    return bins[node].labels[state] if node in bins and isinstance(state, int) else str(state)


def told_evidence(net: Any, options: list[str] | None, bins: dict[str, Bins]) -> dict[str, Any]:
    """`--evidence xray=yes` as findings; a state may be written as a number where the network has numbers.

    Of a number that was cut, the range of a bin or any number, which falls into its bin; of a date a day.
    """
    found: dict[str, Any] = {}
    for option in options or []:
        node, equals, state = option.partition("=")
        if not equals:
            raise BadParameter(f"--evidence is written node=state, as in --evidence xray=yes. Got {option!r} instead.")
        if node not in net.nodes:
            raise UnknownColumn(f"no node {node!r}{did_you_mean(node, net.nodes) or '.'} Nodes: {listed(net.nodes)}")
        states = net.states(node)
        by_text = {_state(node, s, bins): s for s in states}
        if state not in by_text and node in bins:
            by_text = {**by_text, state: _bin_of(node, state, bins[node])}
        if state not in by_text:
            hint = did_you_mean(state, by_text) or "."
            raise BadValue(f"{node!r} has no state {state!r}{hint} States: {listed(by_text)}")
        if node in found:
            raise BadParameter(f"--evidence tells {node!r} twice")
        found[node] = by_text[state]
    return found


def _bin_of(node: str, told: str, bins: Bins) -> int:
    """The bin that a number, or a day, falls into."""
    try:
        value = float(np.datetime64(told, "us").astype(np.int64)) / DAY if bins.dates else float(told)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        needed = "a day, as 2026-11-17," if bins.dates else "a number"
        raise BadValue(f"{node!r} takes {needed} or one of {listed(bins.labels)}. Got {told!r} instead.")
    return int(np.searchsorted(bins.cuts, value, side="right"))


def _bars(out: Any, node: str, states: dict[Any, float]) -> None:
    line(out, node, "bold")
    wide = min(max(len(plain(s)) for s in states), 30)
    room = max(min(BAR, out.width - wide - 12), 5)
    for state, p in states.items():
        full = round(p * room * 8)
        bar = "█" * (full // 8) + (" ▏▎▍▌▋▊▉"[full % 8] if full % 8 else "")
        text = Text(f"  {cut(state, wide):<{wide}} ")
        text.append(f"{bar:<{room}}", "cyan")
        text.append(f" {p:7.2%}")
        out.print(text, no_wrap=True, overflow="crop")


def _say_next(out: Any, target: str | None, worth: dict[str, float]) -> None:
    line(out)
    if not worth or next(iter(worth.values())) < 1e-12:
        line(out, f"nothing that could be asked tells more of {target}")
        return
    first = next(iter(worth))
    line(out, f"ask next: {first} (tells {worth[first]:.4f} nats of {target} on average)", "bold")
    for node, nats in list(worth.items())[1:6]:
        line(out, f"or instead: {node} ({nats:.4f})", "dim")


def run_structure(options: Structure) -> None:
    """Learn who depends on whom; print it, draw it, save the network."""
    from ..network.bayesnet import BayesNet
    from ..structure.search import learn_structure
    from .tables import open_source, told_kinds

    out, output, quiet, score = console(), options.output, options.quiet, options.score
    if output is not None and not output.endswith(".posteriori"):
        suffix_of(output)
    how = {"missing": options.missing or None, "encoding": options.encoding}
    source = open_source(options.data, told_kinds(options.kind), options.sql, **how)
    for note in source.notes if not quiet else ():
        line(out, note, "yellow")
    frame = _cut_numbers(source.table, out, quiet)
    with busy(f"searching over {len(frame.columns)} columns", quiet):
        learned = learn_structure(frame, score=score, random_state=options.seed, time_limit=options.time_limit)
        dag = learned.dag
    if not learned.finished and not quiet:
        line(out, "the time limit has ended the search: this is the best that it had found", "yellow")
    if not quiet:
        found = f"{counted(len(dag.nodes), 'node')}, {counted(len(dag.edges), 'arrow')}"
        line(out, f"{options.data}: {counted(len(frame), 'row')}; {found} by {score}", "bold")
        for node in dag.nodes:
            parents = dag.parents(node)
            line(out, f"{node} ← {', '.join(parents)}" if parents else f"{node}", indent=2)
    if options.svg is not None:
        from ..report.graphs import drawing, graph

        _write(options.svg, str(drawing(graph(dag.nodes, dag.edges))), out, quiet)
    if options.dot is not None:
        _write(options.dot, to_dot(dag), out, quiet)
    if output is not None:
        gaps = int(frame.isna().to_numpy().sum())
        with busy("filling the tables", quiet):
            net = BayesNet.fit_em(dag, frame, random_state=options.seed)
        if gaps and not quiet:
            said = f"{counted(gaps, 'cell')} {'is' if gaps == 1 else 'are'} missing"
            line(out, f"{said}: the tables count what the other cells of their rows let expect (EM)")
        save(net, output) if output.endswith(".posteriori") else net.write(output)
        if not quiet:
            line(out, f"network → {output}; next: posteriori query {shlex.quote(output)}", whole=True)


def _cut_numbers(table: Any, out: Any, quiet: bool) -> Any:
    """The table with numbers cut into four bins of equal share: a network here has states."""
    from .tables import binned

    X, cut_ones = table.X.copy(), []
    for column in table.schema.columns:
        if column.kind in MEASURED:
            cells = X[column.name]
            cells = cells.astype("int64").where(cells.notna()) if cells.dtype.kind == "M" else cells.astype(float)
            known = cells.notna().to_numpy()
            made = np.array(cells, dtype=object)
            made[known] = binned(cells.to_numpy()[known], 4)[0]
            X[column.name] = made
            cut_ones.append(column.name)
    if cut_ones and not quiet:
        line(
            out,
            f"cut into four bins of equal share: {', '.join(cut_ones[:12])}{', …' if len(cut_ones) > 12 else ''}",
            "dim",
        )
    return X


def to_dot(dag: Any) -> str:
    r"""A graph in Graphviz's language; names are quoted, whatever they hold."""

    def name(n: str) -> str:
        return '"' + str(n).replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [f"  {name(n)};" for n in dag.nodes] + [f"  {name(a)} -> {name(b)};" for a, b in dag.edges]
    return "digraph {\n" + "\n".join(lines) + "\n}\n"


def _write(path: str, text: str, out: Any, quiet: bool) -> None:
    with whole_file(pathlib.Path(path)) as stream:
        stream.write(text.encode())
    if not quiet:
        line(out, f"drawing → {path}")
