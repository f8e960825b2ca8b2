"""Training, models, prediction, files."""
from __future__ import annotations

import os
from typing import Any, Iterable, Iterator

import numpy as np

from ._core import ffi, lib
from ._library import (FLOATS, CallbackError, InvalidArgument, Kernel, Labels, Matrix, Params, Progress, Watch, Words,
                       array_of, as_dict, assign, call, doubles, number_of, text, threads_of, vector, view, word_of)


class Model:
    """A trained support vector machine.

    Made by :func:`train`, :meth:`load` or :meth:`from_bytes`. Any number of threads may predict with one model at once;
    :meth:`calibrate` and assigning :attr:`scaling` need it for themselves.

    Examples
    --------
    >>> import numpy as np, hinge
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 3.0], [4.0, 3.0], [3.0, 4.0]])
    >>> y = np.array([-1, -1, -1, 1, 1, 1])
    >>> model = hinge.train(X, y, kernel="linear", C=10)
    >>> model.predict([[0.5, 0.5], [3.5, 3.5]])
    array([-1.,  1.])
    >>> model.classes.tolist(), model.n_sv < 6
    ([1.0, -1.0], True)
    >>> hinge.Model.from_bytes(model.to_bytes()).predict([[3.5, 3.5]])
    array([1.])
    >>> hinge.train(X, ["low"] * 3 + ["high"] * 3).predict([[3.5, 3.5]]).tolist()
    ['high']
    """

    def __init__(self, handle: Any, params: Params | None = None, report: Any = None, user: Kernel | None = None):
        self._handle = ffi.gc(handle, lib.hinge_model_free)
        self._params = params
        self._report = report
        self._user = user
        self._call = call if user is None else user.call
        self._support: np.ndarray | None = None
        self._targets: Targets | None = None
        self._problems = lib.hinge_model_n_problems(handle)
        self._words = Words.held(lib.hinge_model_words(handle))

    # -- files --

    def save(self, path: Any) -> None:
        """Write the model as text that LIBSVM reads, where LIBSVM has its like; an old file is replaced whole."""
        call(lib.hinge_model_save, self._handle, os.fsencode(path))

    @classmethod
    def load(cls, path: Any, kernel: Any = None) -> Model:
        """Read a model file of hinge's or LIBSVM's; kernel is the function of a model whose kernel is one's own."""
        return cls._read(kernel, lib.hinge_model_load, os.fsencode(path))

    def to_bytes(self) -> bytes:
        """The text that :meth:`save` writes: exact, so that :meth:`from_bytes` predicts the same bits."""
        bytes_, size = ffi.new("char **"), ffi.new("size_t *")
        call(lib.hinge_model_format, self._handle, bytes_, size)
        return bytes(ffi.buffer(ffi.gc(bytes_[0], lib.hinge_free), size[0]))

    @classmethod
    def from_bytes(cls, data: bytes, kernel: Any = None) -> Model:
        """The model that :meth:`to_bytes` made a text of."""
        return cls._read(kernel, lib.hinge_model_parse, b"model", ffi.from_buffer(data), len(data))

    @classmethod
    def _read(cls, kernel: Any, function: Any, *arguments: Any) -> Model:
        handle = ffi.new("hinge_model **")
        user = None if kernel is None else Kernel(kernel)
        info = ffi.NULL if user is None else ffi.new("hinge_kernel *", user.kernel)
        call(function, handle, *arguments, info)
        return cls(handle[0], user=user)

    def __getstate__(self) -> dict[str, Any]:
        function = self._user.function if self._user is not None else None
        return {"text": self.to_bytes(), "support": self.support, "kernel": function,
                "params": self._params and self._params.arguments}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(self.from_bytes(state["text"], state["kernel"]).__dict__)
        self._support = state["support"]
        if state["params"]:
            n, arguments = state["params"]
            self._params = Params(n, **arguments)

    def __repr__(self) -> str:
        return f"<hinge.Model {self.task}, {self.kernel['type']}, {self.n_sv} support vectors>"

    # -- predictions --

    def _options(self, threads: int | None, precision: str, maker: str) -> Any:
        options = ffi.new("hinge_predict_options *")
        assign(options, "threads", threads_of(threads))
        options.precision = number_of("hinge_precision", precision)
        options.maker = number_of("hinge_maker", maker)
        return options

    def _apply(self, function: Any, X: Any, threads: int | None, precision: str, maker: str,
               report: dict[str, Any] | None, *width: int) -> np.ndarray:
        """The labels of rows, or the table of so many values of each."""
        matrix, options, told = Matrix(X), self._options(threads, precision, maker), ffi.new("hinge_predict_report *")
        out = np.empty((matrix.view.rows, *width))
        labels, values = (ffi.NULL, doubles(out)) if width else (doubles(out), ffi.NULL)
        options.report = told
        if matrix.view.rows * self.n_sv < 1 << 16:  # over before a key is pressed
            self._call(function, self._handle, matrix.view, options, labels, values)
        else:
            try:
                with Watch() as watch:
                    watch.attach(options)
                    self._call(function, self._handle, matrix.view, options, labels, values)
            except CallbackError:
                if watch.interrupted:
                    raise KeyboardInterrupt from None
                raise
        if report is not None:
            report.update(as_dict(told))
        return out

    def predict(self, X: Any, *, threads: int | None = 0, precision: str = "auto", maker: str = "auto",
                report: dict[str, Any] | None = None) -> np.ndarray:
        """Predict the class label, +1 or -1 (one-class), or value of each row.

        Parameters
        ----------
        X : array of shape (rows, n_features)
            Borrowed where it is float16, float32, float64, uint8, int8 or bool.
        threads : int
            0 is as many as OpenMP has. The result does not depend on it.
        precision : {"auto", "f32", "f64"}
        maker : {"auto", "gemm", "panels", "lists", "integers"}
        report : dict, optional
            Is told what was done: ``rows``; ``rows_f64``, how many of them were made in double precision; ``bound``, by
            which no decision value of the others is off by more (0: there are none); and ``promise``, what decision
            values in "auto" are right to. Nothing is told where the call raises.

        Returns
        -------
        ndarray of shape (rows,), float64; of texts where the labels are words. A model of several targets: their
        values, (rows, targets)

        Examples
        --------
        >>> import numpy as np, hinge
        >>> X = np.random.default_rng(0).normal(size=(500, 20))
        >>> model, told = hinge.train(X, np.sign(X[:, 0])), {}
        >>> labels = model.predict(X, precision="f32", report=told)
        >>> told["rows"], told["rows_f64"], told["promise"], told["bound"] < 0.1
        (500, 0, 0.0001, True)
        """
        if self.n_targets > 0:
            return self._apply(lib.hinge_predict, X, threads, precision, maker, report, self._problems)
        labels = self._apply(lib.hinge_predict, X, threads, precision, maker, report)
        return labels if self._words is None else self._words.of(labels)

    def decision_function(self, X: Any, *, threads: int | None = 0, precision: str = "auto", maker: str = "auto",
                          report: dict[str, Any] | None = None) -> np.ndarray:
        """Decision values, shape (rows, n_problems): of classes 0 v 1, 0 v 2, ..., 1 v 2, ... in :attr:`classes`' order
        (one-vs-rest: of each class); a value > 0 is for the first of a pair. Parameters are those of
        :meth:`predict`."""
        return self._apply(lib.hinge_predict, X, threads, precision, maker, report, self._problems)

    def predict_proba(self, X: Any, *, threads: int | None = 0, precision: str = "auto", maker: str = "auto",
                      report: dict[str, Any] | None = None) -> np.ndarray:
        """Probabilities, shape (rows, n_classes), of a model that is calibrated, in the order of :attr:`classes`.
        Parameters are those of :meth:`predict`."""
        n_classes = lib.hinge_model_n_classes(self._handle)
        return self._apply(lib.hinge_predict_probability, X, threads, precision, maker, report, n_classes)

    def explain(self, X: Any, background: Any = None, *, threads: int | None = 0) -> tuple[np.ndarray, np.ndarray]:
        """Share decision values out among features, by exact Shapley values.

        Parameters
        ----------
        X : array of shape (rows, n_features)
        background : array of shape (any, n_features), optional
            Rows that features which are not known are taken from, one after the other; decision values are averaged
            over them. None: such features count as factor 1 of the kernel (linear, polynomial: as value 0).
        threads : int
            0 is as many as OpenMP has. The result does not depend on it.

        Returns
        -------
        values : ndarray of shape (rows, n_problems, n_features)
        base : ndarray of shape (n_problems,)
            ``values.sum(axis=2) + base`` is :meth:`decision_function`; base is the background's mean.
        """
        base, other = np.empty(self._problems), ffi.NULL if background is None else Matrix(background, "background")
        view = other if background is None else other.view
        values = self._shares(lambda handle, x, options, out: (
            self._call(lib.hinge_explain, handle, x, view, options, out, doubles(base))), X, threads)
        return values, base

    def shap_values(self, X: Any, background: Any = None, *, threads: int | None = 0) -> np.ndarray:
        """The values of :meth:`explain`, laid out as the package shap has them.

        Returns
        -------
        ndarray of shape (rows, n_features), or (rows, n_features, n_problems) where there are several problems

        Examples
        --------
        >>> import numpy as np, hinge
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> model = hinge.train(X, X[:, 0] * X[:, 1], task="epsilon_svr", gamma=0.2, C=10)
        >>> shares = model.shap_values(X[:5], X)
        >>> f = model.decision_function(X).ravel()
        >>> shares.shape, bool(np.allclose(shares.sum(axis=1) + f.mean(), f[:5]))
        ((5, 3), True)
        """
        values = self.explain(X, background, threads=threads)[0]
        return values[:, 0] if self._problems == 1 else np.moveaxis(values, 1, 2)

    def gradients(self, X: Any, *, threads: int | None = 0) -> np.ndarray:
        """Derivatives of decision values by features, shape (rows, n_problems, n_features)."""
        return self._shares(lambda *arguments: self._call(lib.hinge_gradients, *arguments), X, threads)

    def _shares(self, function: Any, X: Any, threads: int | None) -> np.ndarray:
        """A value of each row, problem and feature."""
        matrix, options = Matrix(X), self._options(threads, "auto", "auto")
        out = np.empty((matrix.view.rows, self._problems, self.n_features))
        try:
            with Watch() as watch:
                watch.attach(options)
                function(self._handle, matrix.view, options, doubles(out))
        except CallbackError:
            if watch.interrupted:
                raise KeyboardInterrupt from None
            raise
        return out

    def calibrate(self, X: Any, y: Any = None, *, threads: int | None = 0) -> Model:
        """Fit what :meth:`predict_proba` needs on examples that the model was not trained on. Returns the model."""
        matrix = Matrix(X)
        labels = self._numbers(y, matrix.view.rows)
        call(lib.hinge_calibrate, self._handle, matrix.view, doubles(labels), self._options(threads, "auto", "auto"))
        return self

    def _numbers(self, y: Any, n: int) -> np.ndarray | None:
        """y as the library takes it."""
        if y is None:
            return None
        return vector(y, n, "y") if self._words is None else self._words.numbers_of(y, n)

    @property
    def calibrated(self) -> bool:
        """Whether :meth:`predict_proba` has what it needs."""
        return bool(lib.hinge_model_has_probability(self._handle))

    # -- how good it is --

    @property
    def report(self) -> dict[str, Any]:
        """How the training went: the fields of hinge_report; {} for a model that was read."""
        return {} if self._report is None else as_dict(self._report)

    def certificate(self, X: Any, y: Any = None) -> dict[str, float]:
        """Primal and dual objective, gap and residuals of the optimality conditions, all computed anew in float64.

        X and y are those of the training. A model that was read needs to tell its parameters (``hinge train
        --record``), and finds its support vectors among the rows; of several targets it has no certificate. Theirs are
        summed, objectives and gap, and the largest of all else.
        """
        result = ffi.new("hinge_certificate *")
        if self._targets is not None and self._params is not None:
            matrix, again = Matrix(X), self._targets.again(y)
            struct = ffi.new("hinge_params *", self._params.struct)
            self._call(lib.hinge_certify_many, self._handle, matrix.view, again.struct, struct, result)
            return as_dict(result)
        matrix, targets, params = self._as_trained(X, y)
        self._call(lib.hinge_certify, self._handle, matrix.view, doubles(targets), params, result)
        return as_dict(result)

    def _as_trained(self, X: Any, y: Any) -> tuple[Matrix, np.ndarray | None, Any]:
        """Rows and targets of the training and its parameters, as the library's checks take them, when the model knows
        where its support vectors are."""
        params = ffi.new("hinge_params *", self._known_params())
        if self.scaling is not None:
            d, origin = (self.n_features,), lib.hinge_model_scale_origin(self._handle)
            X = np.asarray(X, np.float64) - (view(origin, d, self) if origin else 0)
            X = X * self.scaling[0] + view(lib.hinge_model_scale_base(self._handle), d, self)
            params.scaling = ffi.NULL
        matrix = Matrix(X)
        targets = self._numbers(y, matrix.view.rows)
        if not lib.hinge_model_sv_index(self._handle):
            call(lib.hinge_model_locate, self._handle, matrix.view, doubles(targets), ffi.NULL)
        return matrix, targets, params

    def _known_params(self) -> Any:
        if self._params is not None:
            return self._params.struct
        params, weighted = ffi.new("hinge_params *", lib.hinge_params_default(0)), ffi.new("int *")
        if not lib.hinge_model_training(self._handle, params, weighted):
            raise InvalidArgument("certificate: the model does not tell how it was trained")
        if weighted[0]:
            raise InvalidArgument("certificate: the training had weights of examples, which the model does not tell")
        if self._user is not None:
            params.kernel = self._user.kernel
        return params[0]

    # -- what it holds --

    @property
    def task(self) -> str:
        """As :func:`train` takes it."""
        return word_of("hinge_task", lib.hinge_model_task(self._handle))

    @property
    def kernel(self) -> dict[str, Any]:
        """type, degree, gamma, coef0 and name of the kernel, gamma resolved; of a combined one name is what it is made
        of."""
        struct = lib.hinge_model_kernel(self._handle)
        kernel = as_dict(struct)
        del kernel["n_parts"], kernel["n_features"]
        kernel["name"] = kernel["name"] or kernel["type"]
        if kernel["type"] == "combined":
            words = ffi.new("char **")
            call(lib.hinge_kernel_format, ffi.new("hinge_kernel *", struct), words)
            kernel["name"] = text(ffi.gc(words[0], lib.hinge_free))
        return kernel

    @property
    def n_features(self) -> int:
        """Number of columns that :meth:`predict` takes."""
        return int(lib.hinge_model_n_features(self._handle))

    @property
    def n_sv(self) -> int:
        """Number of support vectors."""
        return int(lib.hinge_model_n_sv(self._handle))

    @property
    def classes(self) -> np.ndarray:
        """Labels of the classes in the model's order, numbers or texts; empty for regression and one-class."""
        labels = lib.hinge_model_labels(self._handle)
        numbers = self._view(labels, (lib.hinge_model_n_classes(self._handle) if labels else 0,))
        return numbers if self._words is None else self._words.of(numbers)

    @property
    def n_support(self) -> np.ndarray:
        """Number of support vectors of each class; in one number for regression and one-class."""
        counts = lib.hinge_model_class_sv(self._handle)
        return self._view(counts, (len(self.classes),), "=u8") if counts else np.array([self.n_sv], np.uint64)

    @property
    def support(self) -> np.ndarray | None:
        """Training row of each support vector; None for a model from a file."""
        index = lib.hinge_model_sv_index(self._handle)
        return self._view(index, (self.n_sv,), "=u8") if index else self._support

    @property
    def support_vectors(self) -> np.ndarray:
        """A copy of the support vectors, shape (n_sv, n_features)."""
        vectors = np.empty((self.n_sv, self.n_features))
        for i in range(len(vectors)):
            call(lib.hinge_model_sv, self._handle, i, doubles(vectors[i]))
        return vectors

    @property
    def dual_coef(self) -> np.ndarray:
        """Coefficients as LIBSVM lays them out: (n_classes - 1, n_sv); one-vs-rest, and of several targets:
        (n_problems, n_sv)."""
        each = lib.hinge_model_multiclass(self._handle) == lib.HINGE_ONE_VS_REST or self.n_targets > 0
        rows = self._problems if each else lib.hinge_model_n_classes(self._handle) - 1
        return self._view(lib.hinge_model_coef(self._handle), (rows, self.n_sv))

    @property
    def n_targets(self) -> int:
        """How many columns y had where it was two-dimensional; otherwise 0."""
        return lib.hinge_model_n_targets(self._handle)

    @property
    def rho(self) -> np.ndarray:
        """What is subtracted in each decision function, shape (n_problems,)."""
        return self._view(lib.hinge_model_rho(self._handle), (self._problems,))

    @property
    def objectives(self) -> np.ndarray | None:
        """Minimised dual objective of each problem; None for a model that was read."""
        values = lib.hinge_model_objectives(self._handle)
        return self._view(values, (self._problems,)) if values else None

    def coef(self) -> np.ndarray:
        """Weights of a linear model, shape (n_problems, n_features): f(x) = <w, x> - rho."""
        weights = np.empty((self._problems, self.n_features))
        for p in range(self._problems):
            call(lib.hinge_model_weights, self._handle, p, doubles(weights[p]))
        return weights

    def beta(self, n: int) -> np.ndarray:
        """Signed coefficients of the n rows trained on, shape (n_problems, n): what beta0 takes."""
        beta = np.empty((self._problems, n))
        call(lib.hinge_model_beta, self._handle, n, doubles(beta))
        return beta

    @property
    def scaling(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(factor, offset), copies: a feature x becomes x * factor + offset before anything else. None: as it is.

        Assigning stores it in the model, which was trained on examples scaled so and takes raw ones from now on.
        """
        factor = lib.hinge_model_scale_factor(self._handle)
        offset = lib.hinge_model_scale_offset(self._handle)
        d = (self.n_features,)
        return (view(factor, d, self).copy(), view(offset, d, self).copy()) if factor else None

    @scaling.setter
    def scaling(self, value: tuple[Any, Any] | None) -> None:
        factor, offset = (None, None) if value is None else (
            vector(part, self.n_features, name) for part, name in zip(value, ("factor", "offset")))
        call(lib.hinge_model_set_scaling, self._handle, doubles(factor), doubles(offset))

    def _view(self, pointer: Any, shape: tuple[int, ...], kind: str = "=f8") -> np.ndarray:
        return view(pointer, shape, self._handle, kind)


def train(X: Any, y: Any = None, task: str = "c_svc", kernel: Any = "rbf", *, progress: Progress | None = None,
          **params: Any) -> Model:
    """Train a support vector machine.

    Parameters
    ----------
    X : array of shape (n, d)
        Borrowed where it is float16, float32, float64, uint8, int8 or bool, by rows or by columns, also with gaps
        between them; converted to float64 otherwise. ``kernel="precomputed"``: kernel values, shape
        (n, n).
    y : array of shape (n,) or (n, targets)
        Class labels, numbers or texts, or targets; None for one-class. The model and its files keep the texts. Several
        columns, of targets or (c_svc) of labels +1 and -1, are trained on the same kernel rows, and make one model,
        whose ``predict`` gives the values of all (> 0: +1); C and p may then be one for each, and sample_weight of
        shape (n, targets).
    task : {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr", "quantile"}
    kernel : {"rbf", "linear", "polynomial" ("poly"), "sigmoid", "matern32", "matern52", "laplacian", "chi2", \
"tanimoto", "precomputed"}, expression or callable
        An expression is a sum of products of kernels on groups of columns, which count from 1, with their parameters:
        ``"rbf(1-10,gamma=0.1)+2*linear(11-20)*chi2(21-)"``; gamma is 1 / (columns of the group) where it is not there.
        A callable gets float64 arrays (a, d) and (b, d), and returns (a, b).
    progress : callable, optional
        Called about ten times a second with the fields of hinge_progress as a dict; what it returns, if true, stops the
        training.
    **params
        gamma (None: 1 / d), coef0, degree; C, nu, p, tau, eps; sample_weight, class_weight (a dict by label);
        scaling=(lower, upper), which the model keeps; positive_class, beta0, precomputed_index; and any other field of
        hinge_params that is a number or a word: solver ("auto", "smo", "interior_point"), precision ("auto", "f32",
        "f64"), maker ("auto", "gemm", "panels", "lists", "counts", "integers"), multiclass ("one_vs_one",
        "one_vs_rest"), probability, no_bias, rank, shrinking, newton, threads, cache_bytes, working_set,
        max_iter, time_limit, seed, cpu_level, profile.

    Returns
    -------
    Model
        Also where a limit, the callback or Ctrl-C ended the training: the best so far; ``report["outcome"]`` tells.

    Raises
    ------
    Error
        With the library's text.

    Examples
    --------
    >>> import numpy as np, hinge
    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> model = hinge.train(X, X[:, 0] ** 2, task="epsilon_svr", gamma=1.0, C=10.0, p=0.01)
    >>> bool(abs(model.predict([[0.5]])[0] - 0.25) < 0.02)
    True
    >>> model.report["outcome"]
    'converged'
    >>> both = hinge.train(X, np.hstack([X, X ** 2]), task="epsilon_svr", gamma=1.0, C=10.0, p=0.01)
    >>> both.predict([[0.5]]).round(1).tolist()
    [[0.5, 0.2]]
    >>> hinge.train(X, X[:, 0] > 0, C=-1.0)
    Traceback (most recent call last):
        ...
    hinge.InvalidArgument: C: -1 is not a finite number > 0
    """
    return train_watched(X, y, Watch(progress), task=task, kernel=kernel, **params)


class Targets:
    """A hinge_targets of y, of shape (n, targets), and what params has for each target; params gets the rest."""

    def __init__(self, y: Any, n: int, params: dict[str, Any]):
        values = array_of(np.asarray(y).T, np.float64, "y")
        if values.shape[1] != n:
            raise InvalidArgument(f"y has shape {values.T.shape}, not ({n}, targets)")
        self.rows = n
        if params.get("beta0") is not None:
            raise InvalidArgument("beta0: not for y of several columns")
        self.params, self.kept, count = dict(params), {"y": values}, len(values)
        self.struct = ffi.new("hinge_targets *", {"n": count, "y": doubles(values)})
        for name in ("C", "p"):
            if np.ndim(params.get(name, 0)) == 1:
                self._keep(name, vector(self.params.pop(name), count, name))
        if np.ndim(params.get("sample_weight", 0)) == 2:
            weights = np.asarray(self.params.pop("sample_weight"))
            if weights.shape != (n, count):
                raise InvalidArgument(f"sample_weight has shape {weights.shape}, not ({n}, {count})")
            self._keep("weights", array_of(weights.T, np.float64, "sample_weight"))

    def _keep(self, name: str, values: np.ndarray) -> None:
        self.kept[name] = values
        setattr(self.struct, name, doubles(values))

    def again(self, y: Any) -> Targets:
        """The same C, p and weights with y, which are not kept."""
        weights = self.kept.get("weights")
        return Targets(y, self.rows, {**self.kept, **({} if weights is None else {"sample_weight": weights.T})})


def train_many(X: Any, y: Any, watch: Watch, **params: Any) -> Model:
    matrix = Matrix(X)
    targets = Targets(y, matrix.view.rows, params)
    settings = Params(matrix.view.rows, **targets.params)
    watch.attach(settings.struct)
    handle, report = ffi.new("hinge_model **"), ffi.new("hinge_report *")
    struct = ffi.new("hinge_params *", settings.struct)
    with watch:
        settings.call(lib.hinge_train_many, handle, matrix.view, targets.struct, struct, report)
    settings.struct.progress = ffi.NULL
    model = Model(handle[0], settings, report, settings.user)
    model._targets = targets
    del targets.kept["y"]
    return model


def train_watched(X: Any, y: Any, watch: Watch, **params: Any) -> Model:
    if np.ndim(y) == 2:
        return train_many(X, y, watch, **params)
    matrix = Matrix(X)
    n = matrix.view.rows
    labels = Labels(y, n, params.get("task", "c_svc"))
    settings = Params(n, **labels.translate(params))
    settings.check_beta0(labels.numbers)
    watch.attach(settings.struct)
    handle, report = ffi.new("hinge_model **"), ffi.new("hinge_report *")
    struct = ffi.new("hinge_params *", settings.struct)
    try:
        with watch:
            settings.call(lib.hinge_train, handle, matrix.view, doubles(labels.numbers), struct, report)
    except BaseException:
        lib.hinge_model_free(handle[0])  # of a training that the callback ended by raising something
        raise
    settings.struct.progress = ffi.NULL
    labels.give(handle[0])
    return Model(handle[0], settings, report, settings.user)


def cross_validate(X: Any, y: Any = None, folds: int = 5, *, progress: Progress | None = None,
                   **params: Any) -> np.ndarray:
    """Predict each row by a model trained on the other folds.

    Parameters
    ----------
    X, y, **params
        As :func:`train` takes them.
    folds : int
        Drawn by ``seed``, stratified by class.

    Returns
    -------
    ndarray of shape (n,)
        NaN (of labels that are texts: "") for rows of folds that a time limit or the callback left undone. Ctrl-C
        raises KeyboardInterrupt.

    Examples
    --------
    >>> import numpy as np, hinge
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.sign(X[:, 0])
    >>> bool(np.mean(hinge.cross_validate(X, y, C=10) == y) > 0.8)
    True
    """
    matrix = Matrix(X)
    n = matrix.view.rows
    labels = Labels(y, n, params.get("task", "c_svc"))
    settings = Params(n, **labels.translate(params))
    predictions, watch, options = np.empty(n), Watch(progress), ffi.new("hinge_select_options *")
    assign(options, "folds", folds)
    watch.attach(settings.struct)
    struct = ffi.new("hinge_params *", settings.struct)
    with watch:
        settings.call(lib.hinge_cross_validate, matrix.view, doubles(labels.numbers), struct, options.folds,
                      doubles(predictions), ffi.NULL)
    if watch.interrupted:
        raise KeyboardInterrupt
    return predictions if labels.words is None else labels.words.of(predictions)


def path(X: Any, y: Any, C: Iterable[float], **params: Any) -> Iterator[Model]:
    """Train for one C after another, each from the last one's solution; yield the models.

    Parameters
    ----------
    X, y, **params
        As :func:`train` takes them; ``beta0``, of shape (n_problems, n), is where the first one begins.
    C : iterable of float
        In the order in which they are to be trained.

    Yields
    ------
    Model
        As soon as it is trained. Where the interior point trained the last one, which takes a few steps from anywhere,
        the next one begins anew. Ctrl-C, or the callback, ends the path with the model that was in training.

    Examples
    --------
    >>> import numpy as np, hinge
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> [model.report["outcome"] for model in hinge.path(X, np.sign(X[:, 0]), [0.1, 1, 10])]
    ['converged', 'converged', 'converged']
    """
    n, beta = len(X), params.pop("beta0", None)
    for value in C:
        model = train(X, y, C=value, beta0=beta, **params)
        yield model
        if model.report["outcome"] == "stopped":
            return
        beta = None if model.report["rank"] > 0 else model.beta(n)


def load_libsvm(path: Any, *, n_features: int = 0, dtype: Any = np.float64,
                threads: int | None = 0) -> tuple[np.ndarray, np.ndarray]:
    """Read LIBSVM text, plain or compressed with xz or gz. :func:`dump_libsvm` has an example.

    Parameters
    ----------
    path : str or path-like
    n_features : int
        Least number of columns of X.
    dtype : float64 or float32
        Of X.
    threads : int
        0 is as many as OpenMP has.

    Returns
    -------
    X : ndarray of shape (n, d), float64 or float32
        Absent features are 0.
    y : ndarray of shape (n,)
        Texts where the file's labels are words; otherwise X and y are the memory that the library filled, not copies.
    """
    if np.dtype(dtype) not in FLOATS:
        raise InvalidArgument(f"dtype is {dtype}, not float32 or float64")
    options = ffi.new("hinge_data_options *", {"format": lib.HINGE_FORMAT_LIBSVM, "type": FLOATS[np.dtype(dtype)]})
    assign(options, "min_cols", n_features, "n_features")
    assign(options, "threads", threads_of(threads))
    data = ffi.gc(ffi.new("hinge_data *"), lib.hinge_data_free)
    call(lib.hinge_data_read, os.fsencode(path), options, data)
    x, item = data.x, np.dtype(dtype).itemsize
    flat = view(x.data, (x.rows * x.stride,), data, np.dtype(dtype).str, writable=True)
    X = np.lib.stride_tricks.as_strided(flat, (x.rows, x.cols), (x.stride * item, item))
    y, words = view(data.y, (x.rows,), data, writable=True), Words.held(data.words)
    return X, y if words is None else words.of(y)


def dump_libsvm(X: Any, y: Any, path: Any) -> None:
    """Write LIBSVM text, every number in full, by atomic rename.

    Parameters
    ----------
    X : array of shape (n, d)
        Zeros are left out.
    y : array of shape (n,)
        Numbers.
    path : str or path-like
        An old file is replaced whole.

    Examples
    --------
    >>> import os, tempfile, numpy as np, hinge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "data")
    ...     hinge.dump_libsvm(np.eye(2) / 3, [1, -1], file)
    ...     X, y = hinge.load_libsvm(file)
    >>> bool((X == np.eye(2) / 3).all()), y.tolist()
    (True, [1.0, -1.0])
    """
    matrix = Matrix(X)
    call(lib.hinge_data_write, os.fsencode(path), matrix.view, doubles(vector(y, matrix.view.rows, "y")))


def info() -> dict[str, Any]:
    """The library's version, and what it sees of this machine: threads, BLAS, vector code, memory.

    Returns
    -------
    dict
        version; threads, cpu_level (x86-64-v1 to v4), avx512, blas, blas_is_openmp, blas_slow (1: kernels without the
        processor's AVX-512), total_memory (bytes).

    Examples
    --------
    >>> import hinge
    >>> hinge.info()["version"] == hinge.__version__
    True
    """
    return {"version": text(lib.hinge_version()), **as_dict(lib.hinge_machine_info())}
