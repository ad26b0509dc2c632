"""Margins: support vector machines by sequential minimal optimisation, linear ones by coordinate descent and Newton."""

from .linear_svc import LinearSVC
from .svm import SVC, Margins
from .svr import SVR

__all__ = ["SVC", "SVR", "LinearSVC", "Margins"]
