"""`RiskClassifier`: any classifier with a posterior, deciding by least conditional risk."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from ..arrays import Array, Floats
from ..errors import LossError, ModelError
from ..estimator import Estimator, Explains, learning, parameters
from ..fields import MAYBE, Natural, need
from ..table.frame import Table, labelled
from .decide import RiskCoverage, bayes_risk, decide, mean_loss, reject_price, risk, risk_coverage
from .loss import Loss, as_loss, united

METHODS = ("sigmoid", "isotonic", "temperature")  # of calibration


def _has_log_proba(self: RiskClassifier) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_log_proba")


@parameters
class RiskClassifier(Explains, ClassifierMixin, MetaEstimatorMixin, Estimator):  # type: ignore[misc]
    """h*(x) = argmin_a Σ_y λ[a, y] P(y|x) over the posterior of any scikit-learn classifier.

    `loss` and `reject` are read when predicting: change them with `set_params` and no refit is needed.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` (or `decision_function`, if calibrated). A fitted one goes in as `FrozenEstimator(model)`.
    loss : None (zero-one), `Loss`, matrix of actions × truth, costs by class, labelled table or CSV file
        Labels are matched to the classes, and may name classes that the training rows lack (a fold without one is scored
        all the same); a bare matrix follows the order of `classes_`.
    reject : float, optional
        The price of rejecting: a row whose least risk is above it gets `reject_label`.
    reject_label : label, optional
        "reject" among text classes, −1 among numbers (one below the least class where −1 is a class; booleans come back as
        1, 0, −1). A label of another type than the classes gives an array of objects.
    calibration : {None, "sigmoid", "isotonic", "temperature"}
        scikit-learn's `CalibratedClassifierCV`, learned in `fit`.
    cv : folds for the calibration, as `CalibratedClassifierCV` takes them

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : the classes
    loss_ : the `Loss` in use, its columns in the order of `classes_`
    actions_ : what `predict` can say, one for each column of `predict_risk`

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RiskClassifier(GaussianNB(), loss={0: 20, 1: 1}, reject=0.5).fit(X, y)
    >>> model.predict(X[[0, 3, 13, 19]])
    array([ 0,  0, -1,  1])
    >>> model.actions_
    array([ 0,  1, -1])
    """

    estimator: Annotated[
        Any, HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"]), HasMethods(["fit"])
    ]
    _: KW_ONLY
    loss: Any = None
    reject: Annotated[float | None, Interval(Real, None, None, closed="neither"), None] = None
    reject_label: Any = None
    calibration: Annotated[str | None, StrOptions(set(METHODS)), None] = None
    cv: Annotated[Any, "cv_object"] = None

    # fit hands weights on and uses none itself; score does use them
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012
    n_features_in_: Annotated[Natural, "d", MAYBE] = field(init=False)
    feature_names_in_: Annotated[Array, "d", MAYBE] = field(init=False)
    estimator_: Annotated[Any, MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        if "estimator_" in vars(self):
            inside = self.estimator_
            need(isinstance(inside, Estimator), "estimator_ must be an estimator of posteriori")
            fitted = hasattr(inside, "predict_proba") and hasattr(inside, "classes_")
            need(fitted, "estimator_ must be a fitted classifier")
            _ = self.actions_  # refuses a loss of other classes

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the classifier (and its calibration); `sample_weight` and other metadata are handed on to it."""
        X, y = labelled(X, y)
        X, model = self._rows(X), self._model(X)
        if y is not None:  # None is for the classifier to refuse
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
        methods = ["predict_proba"] if self.calibration is None else ["predict_proba", "decision_function"]
        if not any(hasattr(model if self.calibration is None else self.estimator, name) for name in methods):
            raise ModelError(
                f"{type(self.estimator).__name__} gives no posterior (it has no {' or '.join(methods)}); "
                "a classifier with a decision_function gets one through calibration='sigmoid'"
            )
        if sample_weight is not None:
            params = {"sample_weight": sample_weight, **params}
            if not get_config()["enable_metadata_routing"] and not has_fit_parameter(model, "sample_weight"):
                raise ModelError(f"{type(self.estimator).__name__} takes no sample_weight in fit")
        routed = process_routing(self, "fit", **params) if get_config()["enable_metadata_routing"] else None
        self.estimator_ = clone(model).fit(X, y, **(params if routed is None else routed["estimator"]["fit"]))
        _ = self.actions_  # a loss that does not fit the classes is an error now, not at the first prediction
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    @property
    def classes_(self) -> Array:
        """The classes, in the order of the columns of `predict_proba`."""
        return np.asarray(self._fitted().classes_)

    @property
    def loss_(self) -> Loss:
        """The loss in use: columns in the order of `classes_`, the reject row last."""
        return self._priced(as_loss(self.loss, self.classes_).over(self.classes_, absent=True))

    def _priced(self, loss: Loss) -> Loss:
        """The loss with the price of rejecting."""
        self._check_parameters()
        if self.reject is None:
            return loss
        if loss.reject:
            raise LossError("reject= is a price, but the loss has a reject row already; give one of the two")
        return loss.with_reject(self.reject)

    @property
    def actions_(self) -> Array:
        """What `predict` can say: the actions of the loss, then the reject label."""
        return self.loss_.labels(self.reject_label)

    def predict(self, X: Any) -> Array:
        """The action of least conditional risk for each row; ties go to the first of `actions_`."""
        decided = decide(self.predict_proba(X), self.loss_, classes=self.classes_, reject_label=self.reject_label)
        return np.asarray(decided)

    def predict_proba(self, X: Any) -> Floats:
        """P(y|x), one column a class: the classifier's own, or calibrated."""
        return np.asarray(self._fitted().predict_proba(self._rows(X)))

    @available_if(_has_log_proba)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """log P(y|x), where the classifier gives it."""
        return np.asarray(self._fitted().predict_log_proba(self._rows(X)))

    def predict_risk(self, X: Any) -> Floats:
        """R(a|x) = Σ_y λ[a, y] P(y|x), one column for each of `actions_`."""
        return risk(self.predict_proba(X), self.loss_, classes=self.classes_)

    def bayes_risk(self, X: Any, sample_weight: Any = None) -> float:
        """Mean of min_a R(a|x): the loss a row that the posterior expects of these decisions."""
        return bayes_risk(self.predict_proba(X), self.loss_, classes=self.classes_, sample_weight=sample_weight)

    def risk_coverage(self, X: Any, y: Any = None) -> RiskCoverage:
        """Risk against coverage on these rows; with `y` the realised risk (see `posteriori.risk_coverage`)."""
        return risk_coverage(self.predict_proba(X), self.loss_, y, classes=self.classes_)

    def reject_price(self, X: Any, y: Any = None, *, coverage: float | None = None, risk: float | None = None) -> float:
        """The price for `reject` that gives a wanted coverage or risk on these rows (see `posteriori.reject_price`)."""
        return reject_price(self.predict_proba(X), self.loss_, y, coverage=coverage, risk=risk, classes=self.classes_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean realised loss, so that GridSearchCV looks for what the decisions are meant to minimise.

        Rejected rows pay the price. With zero-one loss and no rejection it is accuracy − 1. Rows of a class that training
        did not have count as the loss says; without a loss that names the class, as zero-one does.
        """
        X, y = labelled(X, y)
        said = self.predict(X)
        if self.loss is None:
            loss = Loss.zero_one(united(self.classes_, y))
        else:
            loss = as_loss(self.loss, self.classes_)
            loss = loss if loss.classes is not None else loss.over(self.classes_)
        label = self.loss_.labels(self.reject_label)[-1] if self.loss_.reject else None
        return -mean_loss(y, said, self._priced(loss), reject_label=label, sample_weight=sample_weight)

    def get_metadata_routing(self) -> MetadataRouter:
        """Weights for `score` are ours; what `fit` gets goes to the estimator that asked for it."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._model(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    def _rows(self, X: Any) -> Any:
        """What `read` gives as the classifier takes it: whole if it is one of ours, else its columns."""
        ours = isinstance(self.estimator, Estimator) and self.calibration is None
        return X.X if isinstance(X, Table) and not ours else X

    def _model(self, X: Any = None) -> Any:
        """What is fitted; each fold of a calibration understands the columns as the table that `read` gave does."""
        model, told = self.estimator, isinstance(X, Table) and self.calibration is not None
        if told and isinstance(model, Estimator) and getattr(model, "kinds", X) is None:
            model = clone(model).set_params(kinds=X.schema)
        return calibrated(model, self.calibration, self.cv)

    def _fitted(self) -> Any:
        """The fitted classifier; a frozen one without calibration needs no `fit`."""
        if hasattr(self, "estimator_"):
            return self.estimator_
        if isinstance(self.estimator, FrozenEstimator) and self.calibration is None:
            check_is_fitted(self.estimator)
            return self.estimator
        raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        try:
            self._fitted()
        except NotFittedError:
            return False
        return True

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        tags.classifier_tags.multi_label = False  # one loss, one decision a row
        return tags


def calibrated(estimator: Any, method: str | None, cv: Any = None) -> Any:
    """The estimator inside scikit-learn's `CalibratedClassifierCV`, or itself where no method is wanted.

    A `FrozenEstimator` stays as it is and only the calibration is learned, on the rows given to `fit`.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> calibrated(GaussianNB(), "isotonic").method
    'isotonic'
    """
    if method is None:
        return estimator
    from sklearn import get_config
    from sklearn.calibration import CalibratedClassifierCV

    model = CalibratedClassifierCV(estimator, method=method, cv=cv)
    # weights that reach the classifier reach its calibration too
    return model.set_fit_request(sample_weight=True) if get_config()["enable_metadata_routing"] else model
