"""What the estimators of hinge.sklearn have in common."""
from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import Any, Iterator

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, column_or_1d, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._callbacks import CallbackSupportMixin, Tasks, with_callbacks
from ._exchange import Exchange
from ._library import InvalidArgument, Watch, host, is_expression, uses_gamma, variance_of
from ._model import Model, train_watched
from ._select import grid_search

_NAMES = {"epsilon": "p", "quantile": "tau", "tol": "eps", "cache_size": "cache_bytes"}
_SMALL = 1000  # rows for which float64 costs nothing
_NO_BOUND = 1e10  # C of a regression that asks for infinity, as hinge.h has it of epsilon_svr


@contextmanager
def _own_names() -> Iterator[None]:
    """What the library refuses is told by the estimators' names."""
    try:
        yield
    except InvalidArgument as error:
        name, colon, rest = str(error).partition(": ")
        own = next((own for own, other in _NAMES.items() if other == name), name)
        raise InvalidArgument(own + colon + rest) from None


TAKEN = [np.float64, np.float32, np.uint8, np.int8]  # types of rows that are no copies


class Machine(CallbackSupportMixin, Exchange, BaseEstimator):
    """What all five have in common."""

    kernel: Any
    gamma: Any
    threads: int | None
    precision: str
    classes_: np.ndarray
    _model: Model
    _task: str
    _parameters: tuple[str, ...]  # those that tell tasks apart

    def _keep(self, given: dict[str, Any]) -> None:
        """Makes attributes of a constructor's parameters."""
        self.__dict__.update((name, value) for name, value in given.items() if name != "self")

    # -- data --

    def _rows(self, X: Any, y: Any = "no_validation", **validation: Any) -> Any:
        """X, or X and y, as arrays that are no copies where X is one of floats."""
        if hasattr(X, "tocsr"):
            raise ValueError("Sparse input: hinge takes dense arrays only; use X.toarray()")
        X, y = host(X, "X"), y if isinstance(y, str) else host(y, "y")
        if callable(self.kernel) and np.asarray(X).dtype.kind not in "fiub":
            return X if isinstance(y, str) else (X, np.asarray(y))  # the function's own business
        return validate_data(self, X, y, dtype=TAKEN, order=None, **validation)

    def _weights(self, sample_weight: Any, n: int) -> np.ndarray | None:
        """Rows of negative weight are left out, as those of weight 0 are."""
        if sample_weight is None:
            return None
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError(f"sample_weight and X have incompatible shapes: {weights.shape} and {n} rows")
        weights = np.maximum(weights, 0)
        if np.isnan(weights).any():
            raise ValueError("sample_weight contains NaN")
        if not weights.any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return weights

    def _gamma_of(self, X: Any, weights: np.ndarray | None) -> float:
        if not isinstance(self.gamma, str):
            return self.gamma
        if self.gamma not in ("scale", "auto"):
            raise ValueError(f"gamma is {self.gamma!r}, not 'scale', 'auto' or a number")
        if callable(self.kernel) or self.kernel == "precomputed" or is_expression(self.kernel):
            return 0.0
        if self.gamma == "auto":
            return 1 / X.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            variance = variance_of(X, weights)
        if not np.isfinite(variance):
            raise ValueError("The dual coefficients or intercepts are not finite: gamma='scale' goes by the "
                             "variance of X, which overflows; scale the data")
        return 1 / (X.shape[1] * variance) if variance else 1.0

    # -- training --

    def _settings(self, n: int) -> dict[str, Any]:
        """The keywords of train that depend on the number of rows at most."""
        settings = {_NAMES.get(name, name): getattr(self, name) for name in self._parameters}
        if settings.get("C") == np.inf and self._task not in ("c_svc", "epsilon_svr"):
            settings["C"] = _NO_BOUND
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        cache = 0 if self.cache_size is None else int(self.cache_size * 2**20)
        return dict(settings, task=self._task, degree=self.degree, coef0=self.coef0, eps=self.tol, seed=seed,
                    shrinking=bool(self.shrinking), cache_bytes=cache, max_iter=max(self.max_iter, 0),
                    threads=self.threads, solver=self.solver,
                    precision="f64" if self.precision == "auto" and n <= _SMALL else self.precision,
                    time_limit=self.time_limit or 0)

    def _train(self, X: Any, y: np.ndarray | None, weights: np.ndarray | None, problems: int,
               calibrate: str | None = None, tasks: Tasks | None = None, **more: Any) -> Model:
        kernel, self._X_fit = self.kernel, None
        tasks = tasks or Tasks(self, X, y, weights)
        shape = X.shape if hasattr(X, "shape") else (len(X),)
        if callable(kernel) and not isinstance(X, np.ndarray):
            self._X_fit, X, kernel = X, self._values(X, X), "precomputed"
        if kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed matrix must be a square matrix: it is {X.shape[0]} x {X.shape[1]}")
        self._gamma = self._gamma_of(X, weights)
        watch = Watch(tasks.look if self.verbose or tasks.context else None, problems)
        with _own_names():
            own = is_expression(kernel) and not isinstance(self.gamma, (int, float))
            gamma = None if own else self._gamma
            model = train_watched(X, y, watch, kernel=kernel, gamma=gamma, sample_weight=weights,
                                  probability=calibrate is not None, **self._settings(len(X)), **more)
        self._model, self.shape_fit_, self.report_ = model, shape, model.report
        self.objective_ = self.report_["objective"]
        self._iterations = watch.iterations.astype(np.int32)
        self._judge()
        self._take(X, kernel == "precomputed")
        if watch.interrupted:
            raise KeyboardInterrupt
        tasks.end()
        return model

    def _print(self, progress: dict[str, Any]) -> None:
        print("[hinge] {seconds:.1f} s: problem {problem} of {n_problems}, {iterations} iterations, "
              "violation {violation:.2e}".format(**progress))

    def _judge(self) -> None:
        outcome = self.report_["outcome"]
        self.fit_status_ = 0 if outcome == "converged" else 1
        if outcome == "nonfinite":
            raise ValueError("The dual coefficients or intercepts are not finite: kernel values overflow; scale the "
                             "data")
        if outcome == "no_margin" and self._task == "c_svc" and getattr(self, "C", 0) == np.inf:
            raise ValueError("C=inf: no hyperplane separates the classes; take a finite C")
        if outcome == "max_iter":
            warnings.warn(f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data "
                          "with StandardScaler or MinMaxScaler.", ConvergenceWarning, stacklevel=4)
        elif outcome not in ("converged", "stopped"):
            warnings.warn(f"The training ended before it converged: {outcome}", ConvergenceWarning, stacklevel=4)

    def _take(self, X: Any, precomputed: bool) -> None:
        """The fitted attributes of a model of one problem."""
        model = self._model
        self.support_ = np.array(model.support, np.int32)
        self.support_vectors_ = np.empty((0, 0)) if precomputed else X[self.support_]
        self.dual_coef_ = model.dual_coef
        self.intercept_ = 0.0 - model.rho
        self.n_support_ = np.array([len(self.support_)], np.int32)
        self.n_iter_: Any = int(self._iterations[0])

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features; ``kernel="linear"`` only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        coef = self._coef()
        coef.flags.writeable = False
        return coef

    def _coef(self) -> np.ndarray:
        return self._model.coef()

    def certificate(self, X: Any, y: Any = None) -> dict[str, float]:
        """Primal and dual objective, gap and residuals of the optimality conditions, computed anew in float64.

        Parameters
        ----------
        X, y
            What ``fit`` was called with.

        Returns
        -------
        dict
            primal, dual, gap, kkt, slackness, sum_residual, box_residual, seconds.
        """
        check_is_fitted(self)
        return self._model.certificate(self._values_at(self._rows(X, reset=False)), self._targets_again(y))

    def shap_values(self, X: Any, background: Any = None) -> np.ndarray:
        """Share decision values out among features, by exact Shapley values (:meth:`hinge.Model.explain`).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        background : array of shape (any, n_features), optional
            Rows that features which are not known are taken from; the shares of a row sum to how far its decision value
            is from the background's mean. None: such features have factor 1 in the kernel (linear, polynomial: value 0).

        Returns
        -------
        ndarray of shape (n_samples, n_features); of more than two classes (n_samples, n_features, n_problems), the
        problems as in ``intercept_``
        """
        others = None if background is None else self._ready(background)
        values = self._model.explain(self._ready(X), others, threads=self.threads)[0]
        values = self._as_decisions(values)
        return values[:, 0] if len(self._model.rho) == 1 else np.moveaxis(values, 1, 2)

    def _as_decisions(self, values: np.ndarray) -> np.ndarray:
        """Values (rows, problems, any) of the model, with the estimator's problems and signs."""
        return values

    def _targets_again(self, y: Any) -> Any:
        return y

    # -- prediction --

    def _values(self, A: Any, B: Any) -> np.ndarray:
        """The caller's kernel of what is no array of numbers."""
        values = np.asarray(self.kernel(A, B), dtype=np.float64)
        if values.shape != (len(A), len(B)):
            raise ValueError(f"kernel: the function gave shape {values.shape} for {(len(A), len(B))} values")
        return values

    def _values_at(self, X: Any) -> Any:
        return X if self._X_fit is None else self._values(X, self._X_fit)

    def _fitted(self) -> None:
        if not hasattr(self, "_model"):
            check_is_fitted(self)  # takes longer, and raises

    def _ready(self, X: Any) -> Any:
        self._fitted()
        if (type(X) is np.ndarray and X.dtype in TAKEN and X.ndim == 2 and len(X) > 0 and
                X.shape[1] == getattr(self, "n_features_in_", -1) and not hasattr(self, "feature_names_in_")):
            with np.errstate(all="ignore"):
                if np.isfinite(X.sum()):
                    return X  # which is what scikit-learn's validation would come to, in ten times the time
        return self._values_at(self._rows(X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = False
        return tags


# ---- classification -------------------------------------------------------------------------------------------------

def _is_calibrated(self: Any) -> bool:
    if not getattr(self, "_model", None) or not self._model.calibrated:
        raise AttributeError("predict_proba is available after fit(X, y, calibrate='cv') or calibrate(X, y)")
    return True


class Classifier(ClassifierMixin, Machine):

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, calibrate: str | None = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_samples) if ``kernel="precomputed"``
            Borrowed where it is float32, float64, uint8 or int8.
        y : array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the row twice; 0 or less leaves it out.
        calibrate : {"cv"}, optional
            Make ``predict_proba`` available by five folds of these rows, which share kernel values with the fit.

        Returns
        -------
        self
        """
        if calibrate not in (None, "cv"):
            raise ValueError(f"calibrate is {calibrate!r}, not None or 'cv'")
        X, y = self._rows(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {k} class")
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(f"decision_function_shape is {self.decision_function_shape!r}, not 'ovr' or 'ovo'")
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        weights = self._weights(sample_weight, len(y))
        left = codes if weights is None else np.unique(codes[weights > 0])
        if len(left) < 2:
            raise ValueError(self._one_class)
        if not np.isin(np.arange(k), left).all():
            raise ValueError(f"sample_weight: a class of {self.classes_} has no row of weight > 0")
        self._train(X, codes, weights, k if self.multiclass == "one_vs_rest" and k > 2 else k * (k - 1) // 2,
                    calibrate=calibrate, positive_class=0.0, class_weight=dict(enumerate(self.class_weight_)),
                    multiclass=self.multiclass)
        return self

    _one_class = "Invalid input - all samples with positive weights belong to the same class"

    def _take(self, X: Any, precomputed: bool) -> None:
        """The fitted attributes, with classes in sorted order; the model has them as they appear in y, but for the
        first. In two classes f > 0 is the second here, the first there."""
        super()._take(X, precomputed)
        k, model = len(self.classes_), self._model
        place = np.argsort(model.classes)  # in the model, of each class
        ends = np.cumsum(model.n_support).astype(np.intp)
        parts = [np.arange(ends[p] - model.n_support[p], ends[p], dtype=np.intp) for p in place]
        order = np.concatenate(parts)
        self._in_order = bool((place == np.arange(k)).all())
        self.n_support_ = model.n_support[place].astype(np.int32)
        self.support_ = self.support_[order]
        if not precomputed:
            self.support_vectors_ = self.support_vectors_[order]
        if self._is_one_vs_rest():
            self._columns, self._signs = place, np.ones(k)
            self.dual_coef_ = model.dual_coef[place][:, order]
        else:
            pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
            self._columns = np.array([_pair(min(place[a], place[b]), max(place[a], place[b]), k) for a, b in pairs])
            self._signs = np.array([1.0 if place[a] < place[b] and k > 2 else -1.0 for a, b in pairs])
            coef = np.empty((k - 1, len(order)))
            ends = np.cumsum(self.n_support_)
            for (a, b), sign in zip(pairs, self._signs):
                for own, other in ((a, b), (b, a)):
                    row = place[other] - (place[other] > place[own])
                    coef[other - (other > own), ends[own] - len(parts[own]):ends[own]] = \
                        sign * model.dual_coef[row, parts[own]]
            self.dual_coef_ = coef
        self.intercept_ = 0.0 - self._signs * model.rho[self._columns]
        self.n_iter_ = self._iterations[self._columns]

    def _coef(self) -> np.ndarray:
        return self._signs[:, None] * super()._coef()[self._columns]

    def _is_one_vs_rest(self) -> bool:
        return self.multiclass == "one_vs_rest" and len(self.classes_) > 2

    def _targets_again(self, y: Any) -> np.ndarray:
        return np.searchsorted(self.classes_, column_or_1d(y))

    def _as_decisions(self, values: np.ndarray) -> np.ndarray:
        return values[:, self._columns] * self._signs[:, None]

    def _decisions(self, X: Any) -> np.ndarray:
        decisions = self._model.decision_function(X, threads=self.threads, precision=self.precision)
        return decisions[:, self._columns] * self._signs

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, where > 0 is for the second; otherwise (n_samples, n_classes), or
        for ``decision_function_shape="ovo"`` (n_samples, n_classes * (n_classes - 1) / 2).
        """
        decisions, k = self._decisions(self._ready(X)), len(self.classes_)
        if k == 2:
            return decisions.ravel()
        if self.decision_function_shape == "ovr" and not self._is_one_vs_rest():
            return _ovr_decision_function(decisions < 0, -decisions, k)
        return decisions

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._fitted()
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and len(self.classes_) > 2:
            return self.classes_.take(np.argmax(self.decision_function(X), axis=1))
        X = self._ready(X)
        if self._in_order or self._is_one_vs_rest():
            codes = self._model.predict(X, threads=self.threads, precision=self.precision).astype(np.intp)
        else:
            codes = self._most_votes(self._decisions(X))
        return self.classes_.take(codes)

    def _most_votes(self, decisions: np.ndarray) -> np.ndarray:
        """Of equal numbers of votes, those of the class that sorts first."""
        k = len(self.classes_)
        votes = np.zeros((len(decisions), k), np.int32)
        first, second = np.triu_indices(k, 1)
        for p in range(len(first)):
            won = decisions[:, p] > 0
            votes[:, first[p]] += won
            votes[:, second[p]] += ~won
        return votes.argmax(axis=1)

    def calibrate(self, X: Any, y: Any) -> Any:
        """Make ``predict_proba`` available, by examples that the model was not fitted on.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels, every class at least once.

        Returns
        -------
        self
        """
        X, y = self._ready(X), column_or_1d(y)
        if not np.isin(y, self.classes_).all():
            raise ValueError("calibrate: y has labels that are none of the classes fitted")
        self._model.calibrate(X, self._targets_again(y), threads=self.threads)
        return self

    @available_if(_is_calibrated)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, in the order of ``classes_``; after :meth:`calibrate`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._ready(X)
        probabilities = self._model.predict_proba(X, threads=self.threads, precision=self.precision)
        return probabilities[:, np.argsort(self._model.classes)]

    @available_if(_is_calibrated)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))


def _pair(i: int, j: int, k: int) -> int:
    """Where the pair of classes i < j of k stands among decision values."""
    return i * k - i * (i + 1) // 2 + j - i - 1


# ---- regression -----------------------------------------------------------------------------------------------------

class Regressor(RegressorMixin, Machine):

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_samples) if ``kernel="precomputed"``
            Borrowed where it is float32, float64, uint8 or int8.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets. Those of several columns are trained on the same kernel rows, and make one model: ``dual_coef_``,
            ``intercept_``, ``coef_`` and ``n_iter_`` have a row or an entry each, over the support vectors of all.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 is the row twice; 0 or less leaves it out.

        Returns
        -------
        self
        """
        X, y = self._rows(X, y, multi_output=self._takes_many)
        if y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        y = y.astype(np.float64, copy=False)
        self._train(X, y, self._weights(sample_weight, len(y)), 1 if y.ndim == 1 else y.shape[1])
        return self

    _takes_many = True

    def _take(self, X: Any, precomputed: bool) -> None:
        super()._take(X, precomputed)
        if self._model.n_targets > 0:
            self.n_iter_ = self._iterations

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_many
        return tags

    def predict(self, X: Any) -> np.ndarray:
        """The value at each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,); of several targets (n_samples, n_targets)
        """
        X = self._ready(X)
        return self._model.predict(X, threads=self.threads, precision=self.precision)


# ---- search ---------------------------------------------------------------------------------------------------------

_SCORING = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "f1": "f1", "f1_macro": "f1",
            "roc_auc": "auc", "matthews_corrcoef": "mcc", "neg_log_loss": "log_loss", "r2": "r2",
            "neg_mean_squared_error": "mse", "neg_mean_absolute_error": "mae"}


class Search(Machine):
    """What turns an estimator into one that chooses its own parameters: ``_searched`` names those that are lists."""

    _searched: tuple[str, ...]
    _default_scoring: str
    gamma: Any
    _groups: Any = None
    _takes_many = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **more: Any) -> Any:
        """Search, and fit the best on all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for the estimator without a search.
        groups : array of shape (n_samples,), optional
            Handed to the splitter ``cv``, as by ``GridSearchCV``.
        **more : calibrate of a classifier

        Returns
        -------
        self
        """
        self._groups = groups
        try:
            return super().fit(X, y, sample_weight, **more)
        finally:
            del self._groups

    def _train(self, X: Any, y: np.ndarray | None, weights: np.ndarray | None, problems: int,
               calibrate: str | None = None, tasks: Tasks | None = None, **more: Any) -> Model:
        if callable(self.kernel) and not isinstance(X, np.ndarray):
            raise ValueError("a search takes arrays of numbers")
        scoring = self.scoring or self._default_scoring
        if scoring == "f1_macro" and len(getattr(self, "classes_", ())) == 2:
            raise ValueError("scoring 'f1_macro' is for three classes or more; 'f1' is that of the second of two")
        if scoring not in _SCORING:
            raise ValueError(f"scoring is {scoring!r}, none of {', '.join(map(repr, _SCORING))}")
        fold = self._folds(X, y)
        self.best_params_: dict[str, Any] = {}
        grid = {name: value for name, value in super()._settings(len(X)).items()
                if name not in [_NAMES.get(searched, searched) for searched in self._searched]}
        for name in self._searched:
            if (values := self._values_of(name, X, weights)) is not None:
                grid[_NAMES.get(name, name)] = values
        if len(getattr(self, "classes_", ())) == 2:  # scores are those of the second class, as scikit-learn's
            grid["positive_class"] = 1.0
        if is_classifier(self):  # as predict has them
            grid["ties"] = "values" if self.break_ties and len(self.classes_) > 2 else "label"
        tasks = Tasks(self, X, y, weights)
        with _own_names():
            self.selection_ = grid_search(X, y, kernel=self.kernel, sample_weight=weights, fold=fold, by_fold=True,
                                          score=_SCORING[scoring], drop=self.drop, one_se=self.one_se, refit=False,
                                          fold_eps=self.fold_tol or 0.0, point=tasks.look if tasks.context else None,
                                          **{**more, **grid})
        points = self.selection_.points
        if self.selection_.best is None and points[0]["state"] == "done":
            warnings.warn(f"{scoring} is not defined on these folds: the first point of the grid is taken")
            self.selection_.best = points[0]
        elif self.selection_.best is None:
            if self.selection_.outcome == "stopped":
                raise KeyboardInterrupt
            told = sorted({point["text"] for point in points})
            raise ValueError(f"no point of the grid could be trained: {'; '.join(told) or self.selection_.outcome}")
        self._tell(scoring)
        model = super()._train(X, y, weights, problems, calibrate, tasks, **more)
        if self.selection_.outcome == "stopped" and not tasks.stopped:
            raise KeyboardInterrupt
        return model

    def _folds(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """The fold that holds each row out, by cv's splits."""
        fold = np.full(len(X), -1, np.int32)
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        for number, (train, test) in enumerate(cv.split(X, y, self._groups)):
            if (fold[test] >= 0).any():
                raise ValueError("cv: a row is held out twice; take folds that do not overlap")
            fold[test] = number
            if not np.array_equal(np.sort(np.arange(len(X))[train]), np.flatnonzero(fold != number)):
                raise ValueError("cv: a search trains on all rows that it does not hold out; GridSearchCV takes others")
        return fold

    def _values_of(self, name: str, X: Any, weights: np.ndarray | None) -> Any:
        values = getattr(self, name)
        if values is None or name != "gamma":
            return values
        values = [values] if isinstance(values, (str, float, int)) else values
        return [self._one_gamma(value, X, weights) for value in values]

    def _one_gamma(self, value: Any, X: Any, weights: np.ndarray | None) -> float:
        given, self.gamma = self.gamma, value
        try:
            return super()._gamma_of(X, weights)
        finally:
            self.gamma = given

    def _gamma_of(self, X: Any, weights: np.ndarray | None) -> float:
        return self.best_params_.get("gamma", 0.0)

    def _settings(self, n: int) -> dict[str, Any]:
        return {**super()._settings(n), **{_NAMES.get(k, k): v for k, v in self.best_params_.items() if k != "gamma"}}

    def _tell(self, scoring: str) -> None:
        """cv_results_ and the like, in GridSearchCV's names."""
        found, sign = self.selection_, -1.0 if scoring.startswith("neg_") else 1.0
        names = [name for name in self._searched if name != "gamma" or uses_gamma(self.kernel)]
        results: dict[str, Any] = {
            "params": [{name: point[_NAMES.get(name, name)] for name in names} for point in found.points]}
        for name in names:
            results[f"param_{name}"] = np.array([params[name] for params in results["params"]]).view(np.ma.MaskedArray)
        blank = np.full(int(found.fold.max()) + 1, np.nan)
        scores = sign * np.array([blank if p["fold_score"] is None else p["fold_score"] for p in found.points])
        for k in range(scores.shape[1]):
            results[f"split{k}_test_score"] = scores[:, k]
        mean = np.array([sign * point["mean"].get(found.score, np.nan) for point in found.points])
        results["mean_test_score"] = mean
        results["std_test_score"] = np.array([p["deviation"].get(found.score, np.nan) for p in found.points])
        worth = np.where(np.isnan(mean), -np.inf, mean)
        results["rank_test_score"] = 1 + (worth > worth[:, None]).sum(axis=1, dtype=np.int32)
        self.cv_results_, self.n_splits_ = results, scores.shape[1]
        self.best_index_ = next(k for k, point in enumerate(found.points) if point is found.best)
        self.best_params_ = results["params"][self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
