"""Estimators for scikit-learn (1.6 or later): SVC, NuSVC, SVR, NuSVR, OneClassSVM, QuantileSVR; SVCGrid and SVRGrid,
which choose C and gamma.

Parameters, defaults and fitted attributes are those of ``sklearn.svm``, but for these:

- there is no ``probability``: ``fit(X, y, calibrate="cv")`` makes ``predict_proba`` available, at the price of folds
  that share kernel values with the fit, and so does ``calibrate(X, y)`` on examples kept apart;
  ``sklearn.calibration.CalibratedClassifierCV`` does what its name says;
- ``set_callbacks`` (scikit-learn 1.9 and later) takes its callbacks: a fit is a task with one task for each time the
  library tells how far it is, in ``metadata["progress"]``, and a true value ends it with the best so far;
- ``cache_size=None`` leaves the size to the library;
- weights mean repetition, also in ``gamma="scale"``: its variance is that of the weighted rows, where scikit-learn has
  that of the rows as they are, so that a fit with weights is another one unless gamma is a number or ``"auto"``; a
  class without a row of weight > 0 is refused;
- ``class_weight`` and ``sample_weight`` count for NuSVC, and bound its nu; scikit-learn passes over its
  ``class_weight``;
- ``C=inf`` is the hard margin in SVC; where no hyperplane separates the classes, ``fit`` raises ValueError;
- sparse input is refused;
- ``precision="auto"`` is float64 where there are 1000 rows or fewer, and the library's "auto" otherwise;
- ``threads``, ``precision``, ``solver``, ``time_limit`` are parameters of :func:`hinge.train`, and so is ``multiclass``
  of SVC and NuSVC. ``report_`` is a dict of how the training went, ``objective_`` the dual objective minimised, and
  ``certificate(X, y)`` computes the optimality conditions anew in float64.

Ctrl-C ends a ``fit`` with KeyboardInterrupt; the estimator is fitted, with the best solution so far.
"""
from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np
from sklearn.base import OutlierMixin

from ._callbacks import with_callbacks
from ._estimators import Classifier, Machine, Regressor, Search

Kernel = Union[str, Callable[[np.ndarray, np.ndarray], Any]]
Values = Union[float, Sequence[float], np.ndarray, None]  # what a search is to try

__all__ = ["NuSVC", "NuSVR", "OneClassSVM", "QuantileSVR", "SVC", "SVCGrid", "SVR", "SVRGrid"]


class SVC(Classifier):
    """Classification with a soft margin; C-SVC.

    Parameters
    ----------
    C : float
        Weight of the errors; ``inf`` is the hard margin.
    kernel : {"linear", "poly", "rbf", "sigmoid", "matern32", "matern52", "laplacian", "chi2", \
"tanimoto", "precomputed"}, expression or callable
        An expression is a sum of products of kernels on groups of columns, which count from 1, with their parameters:
        ``"rbf(1-10,gamma=0.1)+2*linear(11-20)*chi2(21-)"``. A callable gets float64 arrays (a, d) and (b, d), blocks of
        the rows, and returns (a, b).
    degree, gamma, coef0
        Of the kernel; gamma is ``"scale"``, ``"auto"`` or a number. An expression has its own, and a gamma that is not
        there is 1 / (columns of the group).
    shrinking, tol, max_iter, time_limit, cache_size
        Of the solver; ``max_iter=-1`` and ``time_limit=None`` are no limits, ``cache_size`` is in MiB.
    class_weight : dict, "balanced" or None
    verbose : bool
        Print progress.
    decision_function_shape : {"ovr", "ovo"}
    break_ties : bool
    random_state : int, RandomState or None
    threads : int or None
        None: as many as OpenMP has. Nothing depends on it but the time.
    precision : {"auto", "f32", "f64"}
    solver : {"auto", "smo", "interior_point"}
    multiclass : {"one_vs_one", "one_vs_rest"}

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_,
    fit_status_, shape_fit_, n_features_in_, feature_names_in_
        As in ``sklearn.svm.SVC``.
    report_ : dict
    objective_ : float
        Dual objective, minimised; the sum over the problems.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.sklearn import SVC
    >>> X = np.array([[-1, -1], [-2, -1], [1, 1], [2, 1]])
    >>> y = np.array(["low", "low", "high", "high"])
    >>> SVC().fit(X, y).predict([[-0.8, -1]]).tolist()
    ['low']
    """

    _task = "c_svc"
    _parameters = ("C",)

    def __init__(self, *, C: float = 1.0, kernel: Kernel = "rbf", degree: int = 3, gamma: float | str = "scale",
                 coef0: float = 0.0, shrinking: bool = True, tol: float = 1e-3, cache_size: float | None = None,
                 class_weight: Mapping[Any, float] | str | None = None, verbose: bool = False, max_iter: int = -1,
                 decision_function_shape: str = "ovr", break_ties: bool = False, random_state: Any = None,
                 threads: int | None = None, precision: str = "auto", solver: str = "auto",
                 time_limit: float | None = None, multiclass: str = "one_vs_one") -> None:
        self._keep(locals())


class NuSVC(Classifier):
    """Classification where nu bounds the fraction of margin errors from above and that of support vectors from below.

    Parameters
    ----------
    nu : float in (0, 1]
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, class_weight, verbose, max_iter, \
decision_function_shape, break_ties, random_state, threads, precision, solver, time_limit, multiclass
        As in :class:`SVC`, and so are the attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.sklearn import NuSVC
    >>> X = np.array([[-1, -1], [-2, -1], [1, 1], [2, 1]])
    >>> NuSVC().fit(X, [1, 1, 2, 2]).predict([[-0.8, -1]])
    array([1])
    """

    _task = "nu_svc"
    _parameters = ("nu",)
    _one_class = "specified nu is infeasible: all samples with positive weights belong to the same class"

    def __init__(self, *, nu: float = 0.5, kernel: Kernel = "rbf", degree: int = 3, gamma: float | str = "scale",
                 coef0: float = 0.0, shrinking: bool = True, tol: float = 1e-3, cache_size: float | None = None,
                 class_weight: Mapping[Any, float] | str | None = None, verbose: bool = False, max_iter: int = -1,
                 decision_function_shape: str = "ovr", break_ties: bool = False, random_state: Any = None,
                 threads: int | None = None, precision: str = "auto", solver: str = "auto",
                 time_limit: float | None = None, multiclass: str = "one_vs_one") -> None:
        self._keep(locals())


class SVR(Regressor):
    """Regression with a tube of half width epsilon.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, random_state, threads, precision, \
solver, time_limit
        As in :class:`SVC`.
    C : float
        Weight of the errors beyond the tube; ``inf`` is the hard tube: 1e10, where ``report_`` says "no_margin" if a
        coefficient comes to that.
    epsilon : float >= 0

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.sklearn import SVR
    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> float(SVR(C=10, epsilon=0.01).fit(X, X[:, 0] ** 2).predict([[0.5]])[0].round(1))
    0.2
    """

    _task = "epsilon_svr"
    _parameters = ("C", "epsilon")

    def __init__(self, *, kernel: Kernel = "rbf", degree: int = 3, gamma: float | str = "scale", coef0: float = 0.0,
                 tol: float = 1e-3, C: float = 1.0, epsilon: float = 0.1, shrinking: bool = True,
                 cache_size: float | None = None, verbose: bool = False, max_iter: int = -1, random_state: Any = None,
                 threads: int | None = None, precision: str = "auto", solver: str = "auto",
                 time_limit: float | None = None) -> None:
        self._keep(locals())


class NuSVR(Regressor):
    """Regression where nu sets the width of the tube.

    Parameters
    ----------
    nu : float in (0, 1]
        Bounds the fraction of rows outside the tube from above, that of support vectors from below.
    C : float
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, random_state, threads, precision, \
solver, time_limit
        As in :class:`SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.sklearn import NuSVR
    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> NuSVR(C=10).fit(X, X[:, 0]).n_support_.shape
    (1,)
    """

    _task = "nu_svr"
    _parameters = ("nu", "C")

    def __init__(self, *, nu: float = 0.5, C: float = 1.0, kernel: Kernel = "rbf", degree: int = 3,
                 gamma: float | str = "scale", coef0: float = 0.0, shrinking: bool = True, tol: float = 1e-3,
                 cache_size: float | None = None, verbose: bool = False, max_iter: int = -1, random_state: Any = None,
                 threads: int | None = None, precision: str = "auto", solver: str = "auto",
                 time_limit: float | None = None) -> None:
        self._keep(locals())


class QuantileSVR(Regressor):
    """Regression of a quantile: C times the pinball loss.

    Parameters
    ----------
    quantile : float between 0 and 1
        The share of targets below the values predicted.
    C : float
        Weight of the errors; ``inf`` is 1e10.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, random_state, threads, precision, \
solver, time_limit
        As in :class:`SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.sklearn import QuantileSVR
    >>> X = np.zeros((10, 1))
    >>> float(QuantileSVR(quantile=0.75, C=100).fit(X, np.arange(10)).predict(X[:1])[0].round(2))
    7.0
    """

    _task = "quantile"
    _parameters = ("quantile", "C")

    def __init__(self, *, quantile: float = 0.5, C: float = 1.0, kernel: Kernel = "rbf", degree: int = 3,
                 gamma: float | str = "scale", coef0: float = 0.0, shrinking: bool = True, tol: float = 1e-3,
                 cache_size: float | None = None, verbose: bool = False, max_iter: int = -1, random_state: Any = None,
                 threads: int | None = None, precision: str = "auto", solver: str = "auto",
                 time_limit: float | None = None) -> None:
        self._keep(locals())


class OneClassSVM(OutlierMixin, Machine):
    """The region where most rows are; what is outside is new.

    Parameters
    ----------
    nu : float in (0, 1]
        Bounds the fraction of rows outside from above, that of support vectors from below.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, random_state, threads, precision, \
solver, time_limit
        As in :class:`SVC`.

    Attributes
    ----------
    offset_ : float
        ``score_samples = decision_function + offset_``.

    Examples
    --------
    >>> from hinge.sklearn import OneClassSVM
    >>> OneClassSVM(gamma="auto").fit([[0], [0.44], [0.45], [0.46], [1]]).predict([[0.45], [5]])
    array([ 1, -1])
    """

    _task = "one_class"
    _parameters = ("nu",)

    def __init__(self, *, kernel: Kernel = "rbf", degree: int = 3, gamma: float | str = "scale", coef0: float = 0.0,
                 tol: float = 1e-3, nu: float = 0.5, shrinking: bool = True, cache_size: float | None = None,
                 verbose: bool = False, max_iter: int = -1, random_state: Any = None, threads: int | None = None,
                 precision: str = "auto", solver: str = "auto", time_limit: float | None = None) -> None:
        self._keep(locals())

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_samples) if ``kernel="precomputed"``
        y : ignored
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        X = self._rows(X)
        self._train(X, None, self._weights(sample_weight, len(X)), 1)
        self.offset_ = -self.intercept_
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance-like values: > 0 inside. Shape (n_samples,)."""
        X = self._ready(X)
        return self._model.decision_function(X, threads=self.threads, precision=self.precision).ravel()

    def score_samples(self, X: Any) -> np.ndarray:
        """:meth:`decision_function` without the offset. Shape (n_samples,)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """+1 inside, -1 outside. Shape (n_samples,)."""
        X = self._ready(X)
        return self._model.predict(X, threads=self.threads, precision=self.precision).astype(np.intp)


class SVCGrid(Search, SVC):
    """SVC that chooses C and gamma by cross-validation, for the price of a few trainings: all points of the grid and
    all folds share one Gram matrix (:func:`hinge.grid_search`). ``fit`` searches, and fits the best on all rows. Scores
    count each row once, as those of ``GridSearchCV`` do: weights of rows and classes are for the trainings alone, and a
    C that is large enough may outdo them.

    Parameters
    ----------
    C, gamma : sequence or number, optional
        What is tried; None: LIBSVM's grid. ``"scale"`` and ``"auto"`` may be among gamma.
    cv : int, splitter or iterable
        As in ``GridSearchCV``, but no row may be held out twice, and each fold trains on all rows that it does not hold
        out. ``fit(X, y, groups=...)`` hands groups to a splitter that wants them.
    scoring : {"accuracy", "balanced_accuracy", "f1", "f1_macro", "roc_auc", "matthews_corrcoef", "neg_log_loss"}
        ``"f1"`` of three classes or more is ``"f1_macro"``.
    drop : {"none", "exact", "race"}
        Leave off points that cannot win, or surely do not: their scores are NaN.
    one_se : bool
        Choose the smallest C within one standard error of the best.
    fold_tol : float, optional
        ``tol`` in the folds; None: 0.1, or ``tol`` if that is larger.
    kernel, degree, coef0, shrinking, tol, cache_size, class_weight, verbose, max_iter, decision_function_shape, \
break_ties, random_state, threads, precision, solver, time_limit, multiclass
        As in :class:`SVC`.

    Attributes
    ----------
    cv_results_, best_params_, best_score_, best_index_, n_splits_
        As in ``GridSearchCV``, without times.
    selection_ : hinge.Selection
        All that was found; and the attributes of :class:`SVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge.sklearn import SVCGrid
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCGrid(C=[0.1, 1, 10], gamma=[0.01, 0.1, 1]).fit(X, y)
    >>> sorted(search.best_params_), search.best_score_ > 0.95, len(search.cv_results_["params"])
    (['C', 'gamma'], True, 9)
    """

    _searched = ("C", "gamma")
    _default_scoring = "accuracy"

    def __init__(self, *, C: Values = None, gamma: Values | Sequence[float | str] | str = None, cv: Any = 5,
                 scoring: str | None = None, drop: str = "none", one_se: bool = False, fold_tol: float | None = None,
                 kernel: Kernel = "rbf", degree: int = 3, coef0: float = 0.0, shrinking: bool = True, tol: float = 1e-3,
                 cache_size: float | None = None, class_weight: Mapping[Any, float] | str | None = None,
                 verbose: bool = False, max_iter: int = -1, decision_function_shape: str = "ovr",
                 break_ties: bool = False, random_state: Any = None, threads: int | None = None,
                 precision: str = "auto", solver: str = "auto", time_limit: float | None = None,
                 multiclass: str = "one_vs_one") -> None:
        self._keep(locals())


class SVRGrid(Search, SVR):
    """SVR that chooses C, gamma and epsilon by cross-validation, as :class:`SVCGrid` does.

    Parameters
    ----------
    C, gamma, epsilon : sequence or number, optional
        What is tried; None: LIBSVM's grid of C and gamma, epsilon 0.1.
    scoring : {"r2", "neg_mean_squared_error", "neg_mean_absolute_error"}
    cv, drop, one_se, fold_tol, kernel, degree, coef0, tol, shrinking, cache_size, verbose, max_iter, random_state, \
threads, precision, solver, time_limit
        As in :class:`SVCGrid`, and so are the attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.sklearn import SVRGrid
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> search = SVRGrid(C=[1, 10], gamma=[0.1, 1], epsilon=[0.01, 0.1], cv=3).fit(X, X[:, 0] ** 2)
    >>> len(search.cv_results_["params"]), sorted(search.best_params_)
    (8, ['C', 'epsilon', 'gamma'])
    """

    _searched = ("C", "gamma", "epsilon")
    _default_scoring = "r2"

    def __init__(self, *, C: Values = None, gamma: Values | Sequence[float | str] | str = None, epsilon: Values = 0.1,
                 cv: Any = 5, scoring: str | None = None, drop: str = "none", one_se: bool = False,
                 fold_tol: float | None = None, kernel: Kernel = "rbf", degree: int = 3, coef0: float = 0.0,
                 tol: float = 1e-3, shrinking: bool = True, cache_size: float | None = None, verbose: bool = False,
                 max_iter: int = -1, random_state: Any = None, threads: int | None = None, precision: str = "auto",
                 solver: str = "auto", time_limit: float | None = None) -> None:
        self._keep(locals())
