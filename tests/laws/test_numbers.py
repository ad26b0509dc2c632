"""A number that a page or a docstring names is the one in the code: either changes only with the other."""

from __future__ import annotations

import importlib
import pathlib
import re

import pytest

import posteriori as po

ROOT = pathlib.Path(__file__).parents[2]

SAID = [  # where the number is, what it is, where that is said, and how
    ("bayes.discriminative.PENALTIES[0]", 256, "DiscriminativeNB", "goes down from 256 to 1/64"),
    ("bayes.discriminative.PENALTIES[-1]", 1 / 64, "DiscriminativeNB", "goes down from 256 to 1/64"),
    ("bayes.discriminative.FOLDS", 5, "DiscriminativeNB", "in five folds"),
    ("bayes.discriminative.FEWER", 64, "docs/discriminative.md", "Above 64 features the choice of λ makes do with"),
    ("bayes.factored.START", 0.5, "docs/naive_bayes.md", "is lower by half a standard error, with `mixed`"),
    ("bayes.factored.MOVE", 2, "docs/naive_bayes.md", "by two standard errors at least, `none`"),
    ("bayes.factored.LEAVE", 1.25, "docs/naive_bayes.md", "`none` (it is left out) by 1¼"),
    ("bayes.factored.ROUNDS", 3, "docs/naive_bayes.md", "up to three times round"),
    ("bayes.drop_ins.SMALLEST", 1e-10, "MultinomialNB", "an alpha below 1e-10 is raised to it"),
    ("forest.linear.PENALTIES[0]", 64, "docs/trees.md", "a ridge that is loosened (64, 16, 4, … 1/64)"),
    ("forest.linear.PENALTIES[1]", 16, "docs/trees.md", "a ridge that is loosened (64, 16, 4, … 1/64)"),
    ("forest.linear.PENALTIES[2]", 4, "docs/trees.md", "a ridge that is loosened (64, 16, 4, … 1/64)"),
    ("forest.linear.PENALTIES[-1]", 1 / 64, "docs/trees.md", "a ridge that is loosened (64, 16, 4, … 1/64)"),
    ("forest.linear.FOLDS", 5, "docs/trees.md", "A linear model is fitted five times"),
    ("forest.linear.MOST_ROWS", 4_000, "AutoBayes", "learn from at most 4,000 rows in each fold"),
    ("cli.bulk.LARGE", 64 << 20, "docs/command_line.md", "above 64 MB, unpacked, never holds the file"),
    ("cli.bulk.HEAD", 8 << 20, "docs/command_line.md", "its first 8 MB say what the columns are"),
    ("cli.tables.ODD", 0.01, "docs/command_line.md", "but for a few words (at most 1% of the rows)"),
    ("decision.calibrate.LEAST", 1e-12, "temperature", "A probability of 0 counts as 1e-12"),
    ("decision.calibrate.MOST_HEAT", 100, "temperature", "T lies within 1/100 and 100"),
    ("decision.decide.TIE", 4, "docs/decisions.md", "Risks within 4 units in the last place are a tie"),
    ("em.TRIAL", 10, "docs/networks.md", "several starts (`restarts`) make ten turns each"),
    ("explain.change.MOST_LAZY", 100, "docs/explaining.md", "of a lazy model one change at a time, a hundred rows"),
    ("explain.weigh.LEAST", 0.001, "docs/explaining.md", "a probability below 0.001 weighs as 0.001"),
    ("forest.grown.BINS", 128, "BayesTree", "Numbers are cut into at most about 128 bins"),
    ("forest.auto.FIRST", 6, "AutoBayes", "of the members six are grown first"),
    ("forest.auto.IDLE", 0.02, "AutoBayes", "an exponent below 0.02"),
    ("forest.auto.WIDTHS[0]", 2, "docs/trees.md", "Two widths, twice and half the mean square"),
    ("forest.auto.WIDTHS[1]", 0.5, "docs/trees.md", "Two widths, twice and half the mean square"),
    ("forest.auto.FEW", 256, "docs/trees.md", "are tried with 256 of them"),
    ("forest.auto.SURE", 1e-3, "docs/trees.md", "not where the other parts leave less than .001 nats a row"),
    ("forest.auto.WORTH", 0.01, "docs/trees.md", "if the 256 have lowered the pool's loss by a hundredth"),
    ("forest.auto.MOST_WORK", 2**28, "AutoBayes", "rows × coordinates × classes is above 2²⁸"),
    ("forest.auto.MOST_PAIRS", 2**31, "AutoBayes", "rows × columns² is above 2³¹"),
    ("forest.auto.MOST_BINS", 2**18, "AutoBayes", "(bins, of numbers) × classes are more than 2¹⁸"),
    ("forest.linear.CLIP", 4, "docs/trees.md", "numbers in standard deviations (within ±4)"),
    ("forest.linear.MOST_VALUES", 250, "AutoBayes", "coordinates for its 250 commonest values"),
    ("forest.auto.FIRST", 6, "docs/trees.md", "members: six are grown first"),
    ("forest.auto.IDLE", 0.02, "docs/trees.md", "an exponent below 0.02, there are none"),
    ("forest.linear.LANDMARKS", 1_024, "docs/trees.md", "exact where there are at most 1,024 rows"),
    ("forest.forest.TOGETHER", 1.1, "docs/trees.md", "held towards 1.1 divided by the number of parts"),
    ("forest.boosted.FOLDS", 5, "BoostedBayes", "the rows of one of five folds"),
    ("forest.boosted.DEPTH", 4, "BoostedBayes", '"auto" is 4, and 6 from 3,000 rows'),
    ("forest.boosted.DEEPER", 6, "BoostedBayes", '"auto" is 4, and 6 from 3,000 rows'),
    ("forest.boosted.FROM", 3_000, "BoostedBayes", '"auto" is 4, and 6 from 3,000 rows'),
    ("forest.boosted.LEAST", 6, "docs/trees.md", "half of the columns, at least six, drawn for each node"),
    ("forest.tree.CONCENTRATIONS[0]", 0.05, "BayesTree", '"auto" tries .05 to 256'),
    ("forest.tree.CONCENTRATIONS[-1]", 256, "BayesTree", '"auto" tries .05 to 256'),
    ("forest.tree.BETWEEN", 16, "BayesTree", "and 16 c between them"),
    ("forest.tree.FOLDS", 5, "BayesTree", "they are dealt to five folds"),
    ("leaderboard.board.LEAST", 2**-52, "docs/command_line.md", "probabilities below 2.2e-16 count as that"),
    ("leaderboard.compare.MANY", 5_000, "compare", "10, or 5 above 5,000 rows"),
    ("leaderboard.race.ENOUGH", 2, "docs/command_line.md", "if the time ends after two folds or more"),
    ("forest.linear.LANDMARKS", 1_024, "AutoBayes", "between a row and up to 1,024 others"),
    ("margin.linear_svc.FEW_ROWS", 1_000, "docs/margins.md", "leave in doubt (up to 1,000)"),
    ("margin.smo.BLOCK", 512, "docs/margins.md", "as many as are free between their bounds, 512 to 2048"),
    ("margin.smo.MOST", 2048, "docs/margins.md", "as many as are free between their bounds, 512 to 2048"),
    ("network.formats.text.MAX_BYTES", 64 << 20, "docs/networks.md", "64 MiB of text after decompression"),
    ("network.formats.text.MAX_STATES", 65_536, "docs/networks.md", "65,536 states a node"),
    ("network.formats.text.MAX_CELLS", 2**23, "docs/networks.md", "2²³ numbers in all tables"),
    ("network.structural.MOST_WAYS", 256, "structural_em", "can be completed in more than 256 ways"),
    ("statistics.histogram.LIMIT", 65_536, "docs/semi_naive.md", "exact up to 65,536 distinct values"),
    ("statistics.sample.LIMIT", 2_000, "docs/naive_bayes.md", "a sample of up to 2,000 distinct rows"),
    ("store.codec.MANY", 16, "docs/model_files.md", "16 and more texts or numbers in a list"),
    ("store.file.FORMAT", 3, "docs/model_files.md", "`format` (3)"),
    ("store.sql.curves.MOST", 256, "docs/model_files.md", "more than 256 kernels count"),
    ("store.sql.query.WIDEST", 1600, "docs/model_files.md", "steps of more than 1,600 columns"),
    ("store.sql.query.MOST", 8_000_000, "sql", "query of more than 8 million letters is refused"),
    ("structure.scores.MOST_ESS", 1e100, "learn_structure", "(with `ess`, 1e-100 to 1e100)"),
    ("structure.structures.DIGITS", 12, "docs/semi_naive.md", "Of equal edges (to 12 decimals)"),
    ("table.prepare.MOST_VALUES", 250, "docs/command_line.md", "each of the 250 commonest values of a category"),
]


@pytest.mark.parametrize(("name", "number", "place", "words"), SAID)
def test_a_number_is_what_is_said_of_it(name: str, number: float, place: str, words: str) -> None:
    module, constant, at = re.fullmatch(r"(.*)\.(\w+)(?:\[(-?\d+)\])?", name).groups()  # type: ignore[union-attr]
    found = getattr(importlib.import_module(f"posteriori.{module}"), constant)
    assert (found if at is None else found[int(at)]) == number
    if place.endswith(".md") and not (ROOT / "docs").exists():
        pytest.skip("beside an installed wheel there are no pages")
    said = (ROOT / place).read_text("utf-8") if place.endswith(".md") else getattr(po, place).__doc__
    assert words in " ".join(said.split())
