"""Fitted estimators of hinge.sklearn made of those of sklearn.svm, and the other way round."""
from __future__ import annotations

from typing import Any, Iterator

import numpy as np
import sklearn.svm
from sklearn.utils.validation import check_is_fitted

from ._core import lib
from ._library import Kernel, Params, call, number_of, text
from ._model import Model

_THEIRS = {"c_svc": "SVC", "nu_svc": "NuSVC", "epsilon_svr": "SVR", "nu_svr": "NuSVR", "one_class": "OneClassSVM",
           "quantile": "SVR"}
_XFIT = "_BaseLibSVM__Xfit"  # what scikit-learn keeps for kernels that are functions


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, np.float64)


class Exchange:
    """What is fitted, in scikit-learn's classes."""

    def to_sklearn(self) -> Any:
        """The fitted estimator as one of ``sklearn.svm``, with the same decision values: for what takes those classes
        alone, as converters to ONNX do.

        Returns
        -------
        sklearn.svm.SVC, NuSVC, SVR, NuSVR or OneClassSVM
            Of QuantileSVR an SVR, which predicts the same. Probabilities are left behind.

        Examples
        --------
        >>> import numpy as np
        >>> from hinge.sklearn import SVC
        >>> X, y = [[-1, -1], [-2, -1], [1, 1], [2, 1]], [1, 1, 2, 2]
        >>> ours = SVC().fit(X, y)
        >>> bool(np.allclose(ours.to_sklearn().decision_function(X), ours.decision_function(X)))
        True
        """
        ours: Any = self
        check_is_fitted(ours)
        if getattr(ours, "multiclass", "") == "one_vs_rest" and len(ours.classes_) > 2:
            raise ValueError("multiclass='one_vs_rest': sklearn.svm has no such model")
        if ours._model.n_targets > 0:
            raise ValueError("y of several columns: sklearn.svm has no such model")
        kernels = ("linear", "poly", "rbf", "sigmoid", "precomputed")
        kernel = "poly" if ours.kernel == "polynomial" else ours.kernel
        if not callable(kernel) and kernel not in kernels:
            raise ValueError(f"kernel={kernel!r}: sklearn.svm has {', '.join(kernels)} and functions")
        labels = getattr(ours, "classes_", np.zeros(2))
        few = np.zeros((len(labels), 1))
        few[:, 0] = np.arange(len(labels))
        theirs = getattr(sklearn.svm, _THEIRS[ours._task])(kernel="linear").fit(few, labels)  # then all is overwritten
        names = set(theirs.get_params()) & set(ours.get_params())
        chosen = {name: getattr(ours, name) for name in names} | getattr(ours, "best_params_", {})
        theirs.set_params(**chosen | {"kernel": kernel, "cache_size": ours.cache_size or theirs.cache_size})
        theirs.__dict__.update(self._fitted_values(kernel), **{
            name: value for name, value in vars(ours).items() if name in (
                "classes_", "class_weight_", "fit_status_", "n_features_in_", "feature_names_in_", "offset_")})
        return theirs

    def _fitted_values(self, kernel: Any) -> dict[str, Any]:
        """The attributes that predict goes by in scikit-learn."""
        ours: Any = self
        sign = -1.0 if len(getattr(ours, "classes_", ())) == 2 else 1.0  # LIBSVM's f > 0 is the first class
        support, vectors, kept = ours.support_, np.ascontiguousarray(ours.support_vectors_, np.float64), {}
        coef, intercept = np.array(ours.dual_coef_), np.atleast_1d(np.array(ours.intercept_, np.float64))
        shape = ours.shape_fit_
        if callable(kernel) and ours._X_fit is None:  # of what was fitted support vectors are left
            kept, support = {_XFIT: vectors}, np.arange(len(vectors), dtype=np.int32)
            shape, vectors = vectors.shape, np.empty((0, 0))
        elif callable(kernel):
            kept = {_XFIT: ours._X_fit}
        counts = ours.n_support_ if hasattr(ours, "classes_") else np.array([len(support), 0], np.int32)
        return {**kept, "support_": support, "support_vectors_": vectors, "_n_support": counts, "_gamma": ours._gamma,
                "dual_coef_": coef, "_dual_coef_": sign * coef, "intercept_": intercept,
                "_intercept_": sign * intercept, "shape_fit_": shape, "n_iter_": ours.n_iter_,
                "_num_iter": np.atleast_1d(ours.n_iter_)}

    @classmethod
    def from_sklearn(cls, theirs: Any) -> Any:
        """A fitted estimator of ``sklearn.svm`` as one of this class, with the same decision values: to predict by
        several threads, to save as a file, to have a certificate of its optimality.

        Parameters
        ----------
        theirs : sklearn.svm.SVC, NuSVC, SVR, NuSVR or OneClassSVM
            Fitted, of this class's name. With ``probability=True`` its probabilities come along.

        Examples
        --------
        >>> import sklearn.svm
        >>> from hinge.sklearn import SVC
        >>> X, y = [[-1, -1], [-2, -1], [1, 1], [2, 1]], [1, 1, 2, 2]
        >>> ours = SVC.from_sklearn(sklearn.svm.SVC(tol=1e-6).fit(X, y))
        >>> ours.predict(X).tolist(), ours.certificate(X, y)["kkt"] < 1e-5
        ([1, 1, 2, 2], True)
        """
        kind = getattr(sklearn.svm, cls.__name__, None)
        if kind is None or type(theirs) is not kind:
            raise TypeError(f"{cls.__name__}.from_sklearn takes a sklearn.svm.{cls.__name__}, not {theirs!r}"
                            if kind else f"sklearn.svm has no {cls.__name__}")
        check_is_fitted(theirs)
        ours: Any = cls()
        names = set(theirs.get_params()) & set(ours.get_params())
        ours.set_params(**{name: getattr(theirs, name) for name in names})
        fitted = getattr(theirs, _XFIT, None) if callable(theirs.kernel) else None
        ours._X_fit = None if isinstance(fitted, np.ndarray) and fitted.dtype.kind in "fiub" else fitted
        for name in ("classes_", "class_weight_", "fit_status_", "shape_fit_", "n_features_in_", "feature_names_in_",
                     "offset_", "_gamma"):
            if hasattr(theirs, name):
                setattr(ours, name, getattr(theirs, name))
        vectors = theirs.support_vectors_ if fitted is None or ours._X_fit is not None else fitted[theirs.support_]
        ours._adopt(theirs, _dense(vectors), ours._X_fit is not None or theirs.kernel == "precomputed")
        return ours

    def _adopt(self, theirs: Any, vectors: np.ndarray, precomputed: bool) -> None:
        """The model, by the text of a file of it."""
        ours: Any = self
        user = Kernel(ours.kernel) if callable(ours.kernel) and not precomputed else None
        lines = "\n".join(self._lines(theirs, vectors, precomputed, user)) + "\n"
        model = Model.from_bytes(lines.encode(), None if user is None else user.function)
        if precomputed:
            call(lib.hinge_model_widen, model._handle, ours.shape_fit_[0])
        model._support = np.asarray(theirs.support_, np.uint64)
        codes = len(getattr(ours, "classes_", ()))
        model._params = Params(ours.shape_fit_[0], kernel="precomputed" if precomputed else ours.kernel,
                               gamma=float(ours._gamma), **ours._settings(ours.shape_fit_[0]), **(
                                   {"positive_class": 0.0, "class_weight": dict(enumerate(ours.class_weight_))}
                                   if codes else {}))
        ours._model, ours.report_, ours.objective_ = model, {}, np.nan
        ours._iterations = np.atleast_1d(theirs.n_iter_)
        ours._take(None, True)
        ours.support_vectors_ = np.empty((0, 0)) if precomputed else vectors

    def _lines(self, theirs: Any, vectors: np.ndarray, precomputed: bool, user: Kernel | None) -> Iterator[str]:
        """A LIBSVM model file."""
        ours: Any = self
        classes = len(getattr(ours, "classes_", ()))
        kernel = "precomputed" if precomputed else "user" if user else {"poly": "polynomial"}.get(
            ours.kernel, ours.kernel)
        coef, intercept = _dense(theirs._dual_coef_), np.atleast_1d(theirs._intercept_)
        info = lib.hinge_kernel_info(number_of("hinge_kernel_type", kernel))
        yield f"svm_type {ours._task}\nkernel_type {kernel}"
        if user is not None:
            yield f"hinge_kernel {text(user.kernel.name)}"
        for name, value in (("degree", ours.degree), ("gamma", float(ours._gamma)), ("coef0", float(ours.coef0))):
            if getattr(info, f"uses_{name}"):
                yield f"{name} {value!r}"
        yield f"nr_class {classes or 2}\ntotal_sv {coef.shape[1]}\nrho {numbers(-intercept)}"
        if classes:
            yield f"label {numbers(np.arange(classes))}"
        if classes and len(theirs._probA):
            yield f"probA {numbers(theirs._probA)}\nprobB {numbers(theirs._probB)}"
        if classes:
            yield f"nr_sv {numbers(theirs.n_support_)}"
        yield "SV"
        for row in range(coef.shape[1]):
            values = f"0:{theirs.support_[row] + 1}" if precomputed else " ".join(
                f"{column}:{value!r}" for column, value in enumerate(vectors[row].tolist(), 1))
            yield f"{numbers(coef[:, row])} {values}"


def numbers(values: np.ndarray) -> str:
    return " ".join(repr(value) for value in values.tolist())
