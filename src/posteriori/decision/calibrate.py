"""Calibration: scikit-learn's own, put between a classifier and its decisions."""

from __future__ import annotations

from typing import Any

METHODS = ("sigmoid", "isotonic", "temperature")


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
