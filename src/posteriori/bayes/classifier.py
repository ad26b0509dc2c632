"""What every Bayes classifier shares: from P(y|x), or log P(y, x), follows everything that is asked of it.

Symbols: x row, y class; log_joint[r, y] = log P(y, x_r).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Bools, Floats
from ..budget import refuse_answer
from ..errors import ImpossibleEvidence, answered, check_policy
from ..estimator import Estimator, Explains
from ..fields import DERIVED
from ..kernels import normalise, posterior
from ..smoothing.theta import log_prior
from ..table.frame import ScoresTables, count_rows

FEW = 16  # rows whose answer fits, whatever the classes
SMOOTH = "smooth the model (a positive smoothing or alpha, a class prior without zeros) or leave the row out"
FAR = (
    "its numbers lie so far from those of every class that no float holds how unlikely they are: look at the row for a "
    "slip of the pen, or leave it out"
)


class PosteriorClassifier(Explains, ScoresTables, ClassifierMixin, Estimator, ABC):  # type: ignore[misc]
    """A classifier by P(y|x) alone; a model gives `_posterior` and the rest follows."""

    classes_: Annotated[Array, "K"]
    class_count_: Annotated[Any, DERIVED]

    @abstractmethod
    def _posterior(self, X: Any) -> tuple[Floats, int]:
        """(P(y|x) of each row and class, first row that no class allows or −1); checks X."""

    def predict_proba(self, X: Any, impossible: str = "raise") -> Floats:
        """P(y|x) of each row and class.

        A row that no class allows is refused by its number, and the table with it; impossible="prior" gives such rows P(y),
        and warns of how many there were.
        """
        check_policy(impossible)
        self._check_room(X)
        answer, first = self._posterior(X)
        if first >= 0:
            never = ~(answer.sum(axis=1) > 0)
            answer[never] = self._instead(never, impossible)
        return answer

    def predict_log_proba(self, X: Any, impossible: str = "raise") -> Floats:
        """log P(y|x); −inf where it is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, impossible))

    def predict(self, X: Any, impossible: str = "raise") -> Array:
        """The class of greatest P(y|x); the first of equals."""
        best = self.predict_proba(X, impossible).argmax(axis=1)
        answer: Array = self.classes_[best]
        return answer

    def _way_out(self) -> str:
        """What to do about a row that no class allows."""
        return SMOOTH

    def _instead(self, never: Bools, impossible: str) -> Floats:
        """P(y) for rows that no class allows, counted aloud; refused unless that is wanted: they have no posterior."""
        if not answered(never, impossible):
            raise ImpossibleEvidence(
                f"row {int(never.argmax())} has probability zero under every class, so it has no posterior; "
                f'{self._way_out()}, or give such rows the prior: impossible="prior"'
            )
        return self._class_shares()

    def _class_shares(self) -> Floats:
        """P(y), of a row that tells nothing."""
        for name in ("class_prior_", "class_log_prior_"):
            if (found := getattr(self, name, None)) is not None:
                return np.exp(found) if "log" in name else np.asarray(found, dtype=np.float64)
        prior, smoothing = getattr(self, "prior", "empirical"), getattr(self, "smoothing", 0.0)
        return np.exp(log_prior(self.class_count_, prior, smoothing, self.classes_.tolist()))

    def _check_room(self, X: Any) -> None:
        """Fitted, and an answer with a number for each row and class fits into memory."""
        self._check_fitted()
        rows = len(X) if type(X) is np.ndarray and X.ndim else count_rows(X)
        if rows > FEW:
            refuse_answer(rows, len(self.classes_))

    def _unlearn(self) -> None:
        """Forget what was learned, by the names that scikit-learn has for it; the parameters stay."""
        for name in [n for n in self.__dict__ if n.endswith("_") and not n.startswith("_")]:
            del self.__dict__[name]

    def _check_fitted(self) -> None:
        if "classes_" not in self.__dict__:
            check_is_fitted(self, "classes_")


class BayesClassifier(PosteriorClassifier):
    """A classifier by P(y|x) = P(y, x) / Σ_y P(y, x); a model gives `_log_joint` and the rest follows."""

    @abstractmethod
    def _log_joint(self, X: Any) -> Floats:
        """log P(y, x) of each row and class, shape (n, K); checks X."""

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        """(P(y|x), first row that no class allows or −1); a model that has a faster way gives its own."""
        return posterior(self._log_joint(X))

    def _log_parts(self, X: Any) -> tuple[Floats, Floats] | None:
        """(log P(y), log P(x_j|y, …) of each row, column and class) where log P(y, x) is their sum, else None."""
        return None

    def _log_without(self, X: Any) -> Floats | None:
        """log P(y, x without x_j) of each row, column and class, where the model knows it without a missing cell."""
        return None

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """log P(y, x) of each row and class."""
        self._check_room(X)
        return self._log_joint(X)

    def predict_log_proba(self, X: Any, impossible: str = "raise") -> Floats:
        """log P(y|x) = log P(y, x) − log P(x), exact where P(y|x) is too small for a float."""
        check_policy(impossible)
        self._check_room(X)
        log_joint = self._log_joint(X)
        evidence = normalise(log_joint)[1]
        if (never := evidence == -np.inf).any():
            with np.errstate(divide="ignore"):
                log_joint[never], evidence[never] = np.log(self._instead(never, impossible)), 0.0
        return log_joint - evidence[:, None]

    def predict(self, X: Any, impossible: str = "raise") -> Array:
        """The class of greatest P(y|x); the first of equals."""
        check_policy(impossible)
        self._check_room(X)
        log_joint = self._log_joint(X)
        best = log_joint.argmax(axis=1)
        never = np.take_along_axis(log_joint, best[:, None], axis=1)[:, 0] == -np.inf
        if never.any():
            best[never] = self._instead(never, impossible).argmax()
        answer: Array = self.classes_[best]
        return answer

    def score_samples(self, X: Any) -> Floats:
        """The evidence log P(x) = log Σ_y P(y, x) of each row; −inf where no class allows the row."""
        self._check_room(X)
        return normalise(self._log_joint(X))[1]
