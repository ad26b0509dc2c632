"""What a notebook shows of a model or a value: a sentence, a table, a drawing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from ..errors import counted
from ..explanation import WAYS, brief, shown
from ..leaderboard.board import HEADS, HOW, cell
from .graphs import MOST, averaged, dependence, network_drawing, nodes_shown, strongest_pairs, tree
from .markup import render
from .scene import svg

if TYPE_CHECKING:
    from ..bayes.naive import NaiveBayes
    from ..explanation import Explanation
    from ..forest.tree import BayesTree

MOST_DRAWN = 150  # nodes of a network; a larger network's notebook face is a sentence, its drawing is plot()
NOTEBOOK = (
    ".posteriori-nomogram svg{max-width:100%;height:auto}"
    ".posteriori-nomogram text{fill:currentColor;font:11.5px sans-serif}"
    ".posteriori-nomogram path{fill:none;stroke:currentColor}.posteriori-nomogram .grid{opacity:.12}"
    ".posteriori-nomogram .accent{stroke:#4878a8;stroke-width:2}.posteriori-nomogram circle{fill:none;stroke:currentColor}"
)
HALF = 110  # pixels of the longest bar
MOST_TOLD = 20  # attributes; the others in one line
FOR, AGAINST = "#4878a8", "#c8553d"
MOST_TREE_NODES = 63


def frame_html(value: Any) -> str:
    """A value that has a frame, as its table, for a notebook."""
    return str(value.to_frame().to_html(index=False))


def schema_html(schema: Any) -> str:
    """The schema as a table, for a notebook."""
    return render("notebook", "schema", schema.columns)


def naive_html(model: NaiveBayes) -> str:
    """The prior and the ten most telling columns, for a notebook."""
    frame = model.summary().head(10)
    top = float(frame["information"].max()) or 1.0
    rows = [
        (
            r["column"],
            f"{r['kind']} {r.get('density', '')}",
            r["values"] or "",
            r["information"],
            120 * r["information"] / top,
        )
        for r in frame.to_dict("records")
    ]
    shown = zip(model.schema_.classes[:12], np.exp(model.factored_.log_prior))
    prior = ", ".join(f"P({c}) = {p:.3f}" for c, p in shown)
    return render("notebook", "naive", type(model).__name__, sizes(model), prior, rows, _nomogram(model))


def sizes(model: Any) -> str:
    """How many rows, columns and classes a model has seen."""
    n = float(np.asarray(model.class_count_).sum())
    schema = model.schema_
    return f"{counted(n, 'row')}, {counted(len(schema), 'column')}, {counted(len(schema.classes), 'class')}"


def _nomogram(model: NaiveBayes) -> dict[str, Any] | None:
    """The nomogram of the report, to be opened: the two commonest classes, the most telling columns."""
    from ..explain.whatif import what_if
    from .nomogram import nomogram, scales

    count = np.asarray(model.class_count_, dtype=float)
    table = what_if(model, most=12, with_rows=True) if len(count) >= 2 and len(model.schema_) <= MOST_DRAWN else None
    if table is None or not table.attributes:
        return None
    against, target = (1, 0) if len(count) > 2 else (0, 1)
    order = np.argsort(-count, kind="stable") if len(count) > 2 else np.arange(2)
    found = scales(table, int(order[target]), int(order[against]))
    if not found.axes:
        return None
    drawn = svg(nomogram(found, wide=True))
    return {"target": found.target, "against": found.against, "style": Markup(NOTEBOOK), "svg": drawn}


def network_html(net: Any) -> str:
    """A sentence about the network and, unless it is large, its drawing."""
    parts = (len(net.nodes), "node"), (len(net.edges), "edge"), (net.n_parameters, "parameter")
    size = ", ".join(counted(*part) for part in parts)
    drawing = Markup(network_drawing(net)) if len(net.nodes) <= MOST_DRAWN else ""
    return render("notebook", "network", type(net).__name__, net.name, size, drawing)


def board_html(board: Any) -> str:
    """The leaderboard as a table: the best first, what failed or was skipped below with its reason."""
    heads = ("model", *(HEADS[s] for s in board.scores))
    rows = [(row, [cell(row, s) for s in board.scores] if row.status == "finished" else []) for row in board.rows]
    notes = [f"{row.name}: {note}" for row in board.finished for note in row.notes] + list(board.notes)
    caption = f"{board.n_rows:,} rows, {board.n_folds} folds, by {HEADS[board.by]}; {HOW}"
    return render("notebook", "board", caption, heads, rows, notes)


def explanation_html(why: Explanation) -> str:
    """A sentence, a table with bars, and what would have to be different."""
    told, rest = why.strongest(MOST_TOLD)
    rows = [("(prior)", "", why.prior)]
    for p in told:
        rows.append((brief(p.column), brief(p.value, 80), p.log_odds))
        rows += [("", f"· {brief(word)}", odds) for word, odds in p.strongest()]
    rows += [(f"({counted(len(rest), 'other')})", "", sum(p.log_odds for p in rest))] if rest else []
    rows += [("(together)", "", why.together)] if why.way != "sum" else []
    top = max([abs(v) for *_, v in rows if math.isfinite(v)], default=0.0) or 1.0
    bars = [(*row, *_bar(row[-1], top)) for row in rows]
    said = shown(why.decision), shown(why.target), shown(why.against), WAYS[why.way]
    return render("notebook", "explanation", why, *said, bars, HALF)


def _bar(odds: float, top: float) -> tuple[str, float, str]:
    """(from where, how long, of what colour) the bar of some log-odds is."""
    width = HALF * (min(abs(odds) / top, 1.0) if math.isfinite(odds) else 1.0)
    return ("left", width, FOR) if odds >= 0 else ("right", width, AGAINST)


def tree_html(model: BayesTree) -> str:
    """A sentence about the tree and its first questions, for a notebook."""
    depth = 1
    while depth < 4 and len(nodes_shown(model, depth + 1)) <= MOST_TREE_NODES:
        depth += 1
    said = (
        f"{model.n_leaves_} leaves, {model.depth_} questions at most, "
        f"{counted(float(np.asarray(model.class_count_).sum()), 'row')}, {counted(len(model.classes_), 'class')}"
    )
    first = 0 if depth >= model.depth_ else depth
    return render("notebook", "tree", type(model).__name__, said, first, svg(tree(model, depth)))


def dependence_html(model: Any) -> str:
    """The graph and a line about the model, for a notebook."""
    n, edges = len(model.edges_), "; every attribute is a parent of the others in turn"
    if not averaged(model):
        some = "" if n <= MOST else f"; the {MOST} strongest of {n} edges are drawn"
        edges = f", {n} edges between attributes{some}; the class is a parent of all"
    elif pairs := len(strongest_pairs(model)):
        edges += f", drawn are the {pairs} pairs that say most of each other within a class"
    return render("notebook", "dependence", type(model).__name__, sizes(model) + edges, svg(dependence(model)))
