"""The whole spectrum in one answer: trees, boosted trees, kDB members, linear and kernel models, pooled."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Annotated

import numpy as np

from ..arrays import Floats
from ..estimator import AT_LEAST_0, AT_LEAST_1, generator, parameters
from ..kernels.trees import Codes
from ..table.frame import Frame
from ..table.rows import Rows
from .coding import Coding
from .growing import PARTS, Growing, Pool, PoolPart
from .grown import GrownClassifier


@parameters
class AutoBayes(GrownClassifier):
    """The estimator to reach for first: what five kinds of models say, multiplied by exponents that fit.

    P(y|x) = (1 − ε) π_y^{u_0} Π_i S_i(y|x)^{u_i}/Z + ε/K, over the parts

    *trees*, 150 of them, each grown on its own draw of the rows, that back off from the root to the leaf (`BayesForest`);
    *linear*, ridge logistic regression on numbers and values, in five folds;
    *boosted*, trees grown on what those before them left unsaid, in five folds (`BoostedBayes`);
    *members*, 30 kDB classifiers, each with its own draw of rows, cuts and parents (`BayesForest`);
    *kernel*, the linear part on the kernel exp(−‖z − z'‖²/v) between a row and up to 1,024 others, drawn where there are
    more; v is two or half the mean square of the distance between two rows, whichever foretells rows better with 256.

    The exponents u are fitted on what each part says of rows that it has not seen: out of bag, or out of fold. A part of
    exponent 0 is not kept. `parts_` shows them all. ε is the share of rows whose class nothing foretells (written down
    wrong, say), in the mean over what these rows leave possible: about 1/n where the pool is sure and never wrong.

    What cannot help is left out early: of the members six are grown first, and there are none if the pool gives these an
    exponent below 0.02. Of more than 1,024 rows so it is with a kernel of 256, and 1,024 are asked where these have lowered
    the loss by a hundredth; no kernel is made where the other parts leave less than .001 nats a row. Linear models
    learn from at most 4,000 rows in each fold; they are left out where rows × coordinates × classes is above 2²⁸, members
    where rows × columns² is above 2³¹, boosted trees where values of all columns (bins, of numbers) × classes are more than
    2¹⁸, and each where it would not fit into memory. A column of names has coordinates for its 250 commonest values, the
    others share one.

    Weights of rows and classes are relative: chances to be drawn, and shares of a mean. The same `random_state` gives the
    same bits, however many threads, unless a `time_limit` cuts parts short. A missing cell is a value of its own where
    training had some; a value that nothing is known of says nothing.

    Parameters
    ----------
    n_trees, n_members : int
    time_limit : float or None
        Seconds for `fit`, about: fewer trees, rounds, members and landmarks are made; parts after the end are left out.
    random_state : int, Generator, RandomState or None
    progress : callable or None
        Called now and then with how much is done, and how much there is; what it raises ends `fit`.
    kinds, class_weight, max_memory, n_jobs : as in `NaiveBayes`

    Attributes
    ----------
    parts_ : tuple of `PoolPart`: part, loss (mean log loss on rows not seen), exponent, seconds, note (why it was left out)
    exponents_ : dict of u, by part and "prior"
    noise_ : ε
    oob_decision_function_ : P(y|x) of every row that weighs something, by what has not seen it; NaN where all has
    oob_score_ : the share of those rows whose most probable class is theirs

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoBayes(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).round(1), model.oob_score_ > 0.9
    (array([[1., 0., 0.]]), True)
    >>> [part.part for part in model.parts_]
    ['trees', 'linear', 'boosted', 'members', 'kernel']
    """

    n_trees: Annotated[int, AT_LEAST_1] = 150
    _: KW_ONLY
    n_members: Annotated[int, AT_LEAST_1] = 30
    time_limit: Annotated[float | None, AT_LEAST_0, None] = None
    grown_: Pool = field(init=False)
    parts_: tuple[PoolPart, ...] = field(init=False)

    def _grow(self, coding: Coding, codes: Codes, rows: Rows) -> tuple[Pool, Floats]:
        growing = Growing(
            coding,
            codes,
            rows,
            generator(self.random_state).integers(0, 1 << 63, len(PARTS), dtype=np.uint64),
            int(self.n_trees),
            int(self.n_members),
            self.max_memory,
            self.n_jobs,
            self.time_limit,
            self.progress,
        )
        pool, answers, self.parts_ = growing.grow()
        return pool, answers

    def _answer(self, frame: Frame, codes: Codes) -> Floats:
        return self.grown_.posterior(frame, codes, self.n_jobs)

    @property
    def exponents_(self) -> dict[str, float]:
        """What each part, and the prior, count for in the pool."""
        return {**{row.part: row.exponent for row in self.parts_}, "prior": float(self.grown_.exponents[-1])}

    @property
    def noise_(self) -> float:
        """ε, the share of rows whose class nothing foretells."""
        return self.grown_.noise
