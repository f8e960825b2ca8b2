"""What textbooks and lecture notes derive about support vector machines, as functions to call one by one; and general
quadratic programs. Names are those of the C headers hinge/theory.h and hinge/qp.h without ``hinge_``, and these say
which formula of which notes each one is.

Two-class labels are +1 and -1, f is a decision value, m = y f its margin, and C the factor of the sum of the slacks in
1/2 ||w||^2 + C sum xi. Functions of plain numbers return NaN outside their domain.

>>> from hinge import theory
>>> X, y = [[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1]
>>> A = [[t, t * a, t * b] for (a, b), t in zip(X, y)]      # y (1, x'), the hard margin by its primal
>>> solution = theory.qp_solve([[0, 0, 0], [0, 1, 0], [0, 0, 1]], A=A, c=[1] * 4)
>>> solution["outcome"], solution["u"].round(6).tolist()      # b and w
('solved', [-1.0, 1.0, -1.0])
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._core import ffi, lib
from ._library import (WORDS, Callbacks, CallbackError, InvalidArgument, Labels, Matrix, Params, Progress, Watch,
                       array_of, as_dict, assign, call, doubles, number_of, text, threads_of, vector)
from ._model import Model
from ._online import perceptron, sgd, sgd_epochs

__all__ = ["LOSSES", "SLACK_CLASSES", "SV_KINDS", "TRADEOFFS", "argmax", "bound_falsification", "bound_growth",
           "bound_leave_one_out", "bound_stability", "bound_stability_best", "bound_vc_fat", "bound_vc_risk",
           "bound_vc_slides", "distance", "kinds", "leave_one_out", "linear_decisions", "linear_model", "loss_mean",
           "loss_name", "loss_slope", "loss_value", "margin", "mercer_check", "model_locate", "model_norm2",
           "model_sum_alpha", "normalise", "perceptron", "pinball", "polynomial_dimension", "polynomial_features",
           "qp_outcome_text", "qp_solve", "radius", "sgd", "sgd_epochs", "sign", "slack", "slack_class_of",
           "stability_lambda", "sv_kind_of", "tradeoff_ball", "tradeoff_convert", "tradeoff_max_margin", "tradeoff_nu"]
LOSSES = tuple(WORDS["hinge_loss"])
SV_KINDS = tuple(WORDS["hinge_sv_kind"])
SLACK_CLASSES = tuple(WORDS["hinge_slack_class"])
TRADEOFFS = tuple(WORDS["hinge_tradeoff"])


# ---- decision functions, losses -------------------------------------------------------------------------------------

def sign(a: float) -> float:
    """+1 if a > 0, otherwise -1."""
    return float(lib.hinge_sign(a))


def argmax(values: Any) -> int:
    """The position of the largest value, the first of equal ones; NaN is never largest."""
    array = array_of(values, np.float64, "values")
    if array.ndim != 1 or array.size == 0:
        raise InvalidArgument(f"values has shape {array.shape}: one row of values at least is needed")
    return int(lib.hinge_argmax(doubles(array), array.size))


def linear_decisions(X: Any, w: Any, b: Any = None, *, threads: int | None = 0) -> np.ndarray:
    """<x, w_c> + b_c of each row and each of k weight vectors, shape (rows, k).

    Parameters
    ----------
    X : array of shape (rows, d)
    w : array of shape (k, d) or (d,)
    b : array of shape (k,), optional

    Examples
    --------
    >>> from hinge import theory
    >>> theory.linear_decisions([[1, 3.5]], [[2, -1], [1, 2], [3, 2]]).tolist()
    [[-1.5, 8.0, 10.0]]
    """
    matrix = Matrix(X)
    weights = np.atleast_2d(array_of(w, np.float64, "w"))
    k = len(weights)
    if weights.shape != (k, matrix.view.cols):
        raise InvalidArgument(f"w has shape {weights.shape}, not ({k}, {matrix.view.cols})")
    biases = None if b is None else vector(np.atleast_1d(b), k, "b")
    out = np.empty((matrix.view.rows, k))
    call(lib.hinge_linear_decisions, matrix.view, doubles(weights), doubles(biases), k, threads_of(threads),
         doubles(out))
    return out


def normalise(X: Any, w: Any, b: float = 0.0, *, threads: int | None = 0) -> tuple[np.ndarray, float]:
    """w and b of the same hyperplane, scaled such that the nearest row of X has |<x, w> + b| = 1.

    Examples
    --------
    >>> from hinge import theory
    >>> w, b = theory.normalise([[0, 0], [2, 2], [2, 0], [3, 0]], [5, -5], -5)
    >>> w.tolist(), b
    ([1.0, -1.0], -1.0)
    """
    matrix, bias = Matrix(X), ffi.new("double *", b)
    weights = np.array(vector(w, matrix.view.cols, "w"))
    call(lib.hinge_normalise, matrix.view, doubles(weights), bias, threads_of(threads))
    return weights, float(bias[0])


def linear_model(w: Any, b: float = 0.0, positive: float = 1.0, negative: float = -1.0) -> Model:
    """A model with f(x) = <w, x> + b, which gives ``positive`` where f > 0 and ``negative`` elsewhere.

    Examples
    --------
    >>> from hinge import theory
    >>> theory.linear_model([1, -1], -1).predict([[3, 0], [0, 0]]).tolist()
    [1.0, -1.0]
    """
    weights, handle = array_of(w, np.float64, "w"), ffi.new("hinge_model **")
    call(lib.hinge_linear_model, handle, doubles(weights), weights.size, b, positive, negative)
    return Model(handle[0])


def loss_value(loss: str, margin: Any) -> Any:
    """A loss at a margin y f, or at each of an array: one of :data:`LOSSES`.

    Examples
    --------
    >>> from hinge import theory
    >>> theory.LOSSES
    ('hinge', 'perceptron', 'logistic', 'zero_one', 'exponential')
    >>> theory.loss_value("hinge", [-1, 0, 2]).tolist()
    [2.0, 1.0, 0.0]
    """
    number = number_of("hinge_loss", loss)
    values = np.asarray(margin, np.float64)
    out = np.array([lib.hinge_loss_value(number, m) for m in values.ravel()]).reshape(values.shape)
    return out if values.ndim else float(out)


def loss_slope(loss: str, margin: float) -> float:
    """Minus the derivative of a loss by the margin: what subgradient steps are times y x."""
    return float(lib.hinge_loss_slope(number_of("hinge_loss", loss), margin))


def loss_mean(loss: str, margins: Any) -> float:
    """The mean of a loss over margins: the empirical risk."""
    values = array_of(margins, np.float64, "margins").ravel()
    return float(lib.hinge_loss_mean(number_of("hinge_loss", loss), doubles(values), values.size))


def loss_name(loss: str) -> str:
    """What the command calls a loss: "0-1" is ``"zero_one"``."""
    return text(lib.hinge_loss_name(number_of("hinge_loss", loss)))


def pinball(tau: float, residual: float) -> float:
    """The loss of quantile regression: tau r for a residual r >= 0, (tau - 1) r below."""
    return float(lib.hinge_pinball(tau, residual))


# ---- feature maps, Mercer's condition, radius -----------------------------------------------------------------------

def polynomial_dimension(d: int, degree: int, rows: int = 0) -> int:
    """The number of monomials of at most this degree in d variables; SizeError where so many rows of them are more than
    this machine's memory."""
    dimension = ffi.new("size_t *")
    call(lib.hinge_polynomial_dimension, d, degree, rows, dimension)
    return int(dimension[0])


def polynomial_features(X: Any, degree: int = 3, gamma: float | None = None, coef0: float = 0.0, *,
                        threads: int | None = 0) -> np.ndarray:
    """The features z with <z_i, z_j> = (coef0 + gamma <x_i, x_j>)^degree, shape (rows, dimension).

    Examples
    --------
    >>> from hinge import theory
    >>> theory.polynomial_features([[2, 2]], 2, 1, 1).round(3).tolist()
    [[1.0, 2.828, 2.828, 4.0, 5.657, 4.0]]
    """
    matrix, settings = _kernel(X, "polynomial", degree=degree, gamma=gamma, coef0=coef0)
    z = np.empty((matrix.view.rows, polynomial_dimension(matrix.view.cols, degree, matrix.view.rows)))
    call(lib.hinge_polynomial_features, matrix.view, ffi.addressof(settings.struct, "kernel"), threads_of(threads),
         doubles(z))
    return z


def _kernel(X: Any, kernel: Any, **parameters: Any) -> tuple[Matrix, Params]:
    """X, and parameters that hold nothing but a kernel."""
    unknown = set(parameters) - {"gamma", "degree", "coef0"}
    if unknown:
        raise TypeError(f"{', '.join(sorted(unknown))}: no parameter of a kernel")
    matrix = Matrix(X)
    return matrix, Params(matrix.view.rows, kernel=kernel, **parameters)


def mercer_check(X: Any, kernel: Any = "rbf", *, tolerance: float = 0.0, threads: int | None = 0,
                 **parameters: Any) -> dict[str, Any]:
    """Whether the kernel matrix of these rows is symmetric and positive semi-definite: a "no" is a proof.

    Parameters
    ----------
    X : array of shape (n, d)
    kernel, gamma, degree, coef0
        As :func:`hinge.train` takes them.
    tolerance : float
        Relative; 0: 1e-10.

    Returns
    -------
    dict
        smallest and largest eigenvalue, asymmetry, tolerance, symmetric, semidefinite.

    Examples
    --------
    >>> from hinge import theory
    >>> X = [[0, 0], [2, 2], [2, 0], [3, 0]]
    >>> theory.mercer_check(X, gamma=0.5)["semidefinite"], theory.mercer_check(X, "sigmoid", gamma=1, coef0=-1)[
    ...     "semidefinite"]
    (True, False)
    """
    matrix, settings = _kernel(X, kernel, **parameters)
    found = ffi.new("hinge_mercer *")
    settings.call(lib.hinge_mercer_check, matrix.view, ffi.addressof(settings.struct, "kernel"), tolerance,
                  threads_of(threads), found)
    result = as_dict(found)
    return {**result, "symmetric": bool(result["symmetric"]), "semidefinite": bool(result["semidefinite"])}


def radius(X: Any, kernel: Any = "linear", *, centred: bool = False, threads: int | None = 0,
           **parameters: Any) -> float:
    """The largest ||Phi(x)|| of rows, or, centred, the largest ||Phi(x) - mean Phi||."""
    matrix, settings = _kernel(X, kernel, **parameters)
    value = ffi.new("double *")
    settings.call(lib.hinge_radius, matrix.view, ffi.addressof(settings.struct, "kernel"), bool(centred),
                  threads_of(threads), value)
    return float(value[0])


# ---- kinds of support vectors, classes of slack ---------------------------------------------------------------------

def sv_kind_of(alpha: float, C: float) -> str:
    """The kind of a coefficient: one of :data:`SV_KINDS`."""
    return SV_KINDS[lib.hinge_sv_kind_of(alpha, C)]


def slack(y: float, f: float) -> float:
    """xi = max(0, 1 - y f)."""
    return float(lib.hinge_slack(y, f))


def slack_class_of(xi: float, tolerance: float = 1e-6) -> str:
    """The class of a slack: one of :data:`SLACK_CLASSES`."""
    return SLACK_CLASSES[lib.hinge_slack_class_of(xi, tolerance)]


def _point_type() -> np.dtype:
    """hinge_point as NumPy has it."""
    fields = ffi.typeof("hinge_point").fields
    return np.dtype({"names": [name for name, _ in fields], "offsets": [field.offset for _, field in fields],
                     "formats": ["f8" if field.type.cname == "double" else "i4" for _, field in fields],
                     "itemsize": ffi.sizeof("hinge_point")})


class _Kinds(Callbacks):
    """Collects what hinge_kinds_each tells."""

    def __init__(self, n: int, only: int | None):
        super().__init__()
        self.n, self.only, self.found = n, only, list[tuple[dict[str, Any], np.ndarray]]()

    def take(self, problem: int, kinds: Any, points: Any) -> bool:
        if self.only is None or problem == self.only:
            told = as_dict(kinds)
            told["n_slack"] = list(kinds.n_slack)
            bytes_ = bytes(ffi.buffer(points, self.n * ffi.sizeof("hinge_point")))
            self.found.append((told, np.frombuffer(bytes_, _point_type())))
        return problem == self.only


@ffi.def_extern(error=1)
def hinge_py_kinds(handle: Any, problem: int, kinds: Any, points: Any) -> int:
    collector = ffi.from_handle(handle)
    return collector.run(collector.take, problem, kinds, points)


def kinds(model: Model, X: Any, y: Any, problem: int | None = None, *,
          tolerance: float = 1e-6) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Kind of support vector and class of slack of every row, and what they sum up to, of C-SVC and nu-SVC.

    Parameters
    ----------
    model : Model
    X, y
        What it was trained on.
    problem : int, optional
        One two-class problem alone; None: all.
    tolerance : float
        By which a slack may miss 0 or 1.

    Returns
    -------
    list of (dict, ndarray), one a problem
        The fields of hinge_kinds (n_margin_sv, n_non_margin_sv, n_slack, sum_alpha, norm2, bias, ...); and of
        hinge_point of each row: y, alpha, C, f, slack, and kind and slack_class as places in :data:`SV_KINDS` and
        :data:`SLACK_CLASSES`.

    Examples
    --------
    >>> import hinge
    >>> from hinge import theory
    >>> X, y = [[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1]
    >>> model = hinge.train(X, y, kernel="linear", C=0.25, eps=1e-9)
    >>> (sums, rows), = theory.kinds(model, X, y)
    >>> [theory.SV_KINDS[kind] for kind in rows["kind"]], rows["slack"].round(4).tolist(), sums["n_margin_sv"]
    (['margin_sv', 'non_margin_sv', 'non_margin_sv', 'margin_sv'], [0.0, 0.3333, 0.6667, 0.0], 2)
    """
    if problem is not None and not 0 <= problem < len(model.rho):
        raise InvalidArgument(f"problem: {problem} is none of the {len(model.rho)} of the model")
    matrix, targets, params = model._as_trained(X, y)
    collector = _Kinds(matrix.view.rows, problem)
    try:
        model._call(lib.hinge_kinds_each, model._handle, matrix.view, doubles(targets), params, tolerance,
                    lib.hinge_py_kinds, collector.handle)
    except CallbackError:
        if collector.error is not None:
            raise collector.error from None
        if problem is None:
            raise
    return collector.found


# ---- margins and bounds ---------------------------------------------------------------------------------------------

def _of_model(function: Any, model: Model, problem: int) -> float:
    value = ffi.new("double *")
    model._call(function, model._handle, problem, value)
    return float(value[0])


def model_norm2(model: Model, problem: int = 0) -> float:
    """||w||^2 of a two-class problem."""
    return _of_model(lib.hinge_model_norm2, model, problem)


def model_sum_alpha(model: Model, problem: int = 0) -> float:
    """The sum of alpha of a two-class problem of C-SVC."""
    return _of_model(lib.hinge_model_sum_alpha, model, problem)


def model_locate(model: Model, X: Any, y: Any = None) -> Model:
    """Find the training row of each support vector of a model that was read: ``support`` and ``beta`` then work."""
    matrix = Matrix(X)
    targets = model._numbers(y, matrix.view.rows)
    call(lib.hinge_model_locate, model._handle, matrix.view, doubles(targets), ffi.NULL)
    return model


def margin(norm2: float) -> float:
    """1 / ||w||, the distance of the margin from the boundary."""
    return float(lib.hinge_margin(norm2))


def distance(f: float, norm2: float) -> float:
    """|f| / ||w||, the distance of a point with decision value f from the hyperplane."""
    return float(lib.hinge_distance(f, norm2))


def bound_growth(h: int, n: int) -> float:
    """The growth function's bound for VC dimension h: the sum of the first h + 1 binomial coefficients of n."""
    return float(lib.hinge_bound_growth(h, n))


def bound_falsification(h: int, n: int) -> float:
    """The probability, at least, that n labels drawn at random are more than VC dimension h can fit."""
    return float(lib.hinge_bound_falsification(h, n))


def bound_leave_one_out(n_sv: int, n: int) -> float:
    """Leave-one-out error <= n_sv / n."""
    return float(lib.hinge_bound_leave_one_out(n_sv, n))


def bound_vc_fat(radius: float, margin: float, d: float) -> float:
    """VC dimension of fat hyperplanes <= min(ceil(R^2 / margin^2), d) + 1."""
    return float(lib.hinge_bound_vc_fat(radius, margin, d))


def bound_vc_slides(radius: float, margin: float, d: float) -> float:
    """VC dimension <= min(d, ceil(4 R^2 / margin^2)), R of centred data."""
    return float(lib.hinge_bound_vc_slides(radius, margin, d))


def bound_vc_risk(risk: float, h: float, n: int, delta: float) -> float:
    """The risk, with probability 1 - delta, of what has empirical risk ``risk`` on n rows and VC dimension h."""
    return float(lib.hinge_bound_vc_risk(risk, h, n, delta))


def bound_stability(risk: float, norm2: float, lambda_: float, radius: float, m: int) -> float:
    """R(u) + lambda ||u||^2 + 2 R^2 / (lambda m)."""
    return float(lib.hinge_bound_stability(risk, norm2, lambda_, radius, m))


def bound_stability_best(radius: float, B: float, m: int) -> float:
    """sqrt(8 R^2 B^2 / m), by the best lambda, :func:`stability_lambda`."""
    return float(lib.hinge_bound_stability_best(radius, B, m))


def stability_lambda(radius: float, B: float, m: int) -> float:
    """sqrt(2 R^2 / (B^2 m))."""
    return float(lib.hinge_stability_lambda(radius, B, m))


def leave_one_out(X: Any, y: Any, task: str = "c_svc", kernel: Any = "rbf", *, progress: Progress | None = None,
                  **params: Any) -> dict[str, Any]:
    """The exact leave-one-out error: only support vectors need a training of their own.

    Parameters
    ----------
    X, y, task, kernel, progress, **params
        As :func:`hinge.train` takes them; tasks without nu.

    Returns
    -------
    dict
        The fields of hinge_leave_one_out_report (n, n_sv, retrained, errors, error, bound, outcome, seconds), and
        ``predictions``, each row's by a model of all others.

    Examples
    --------
    >>> from hinge import theory
    >>> found = theory.leave_one_out([[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1], kernel="linear", C=100)
    >>> found["error"] <= found["bound"], found["retrained"]
    (True, 3)
    """
    matrix, watch = Matrix(X), Watch(progress)
    labels = Labels(y, matrix.view.rows, task)
    settings = Params(matrix.view.rows, task=task, kernel=kernel, **labels.translate(params))
    predictions, report = np.full(matrix.view.rows, np.nan), ffi.new("hinge_leave_one_out_report *")
    watch.attach(settings.struct)
    with watch:
        settings.call(lib.hinge_leave_one_out, matrix.view, doubles(labels.numbers),
                      ffi.new("hinge_params *", settings.struct), doubles(predictions), report)
    if watch.interrupted:
        raise KeyboardInterrupt
    words = labels.words
    return {**as_dict(report), "predictions": predictions if words is None else words.of(predictions)}


# ---- conventions of the trade-off -----------------------------------------------------------------------------------

def tradeoff_convert(from_: str, to: str, value: float, m: int) -> float:
    """The value in another convention that gives the same w and b on m rows: ``"sum"`` is C of 1/2 ||w||^2 + C sum xi,
    ``"mean"`` C of 1/2 ||w||^2 + C/m sum xi, ``"lambda"`` that of lambda ||w||^2 + 1/m sum xi.

    Examples
    --------
    >>> from hinge import theory
    >>> theory.tradeoff_convert("sum", "lambda", 100, 4)
    0.00125
    """
    return float(lib.hinge_tradeoff_convert(number_of("hinge_tradeoff", from_), number_of("hinge_tradeoff", to), value,
                                            m))


def tradeoff_ball(X: Any, y: Any, ball: float, kernel: Any = "rbf", *, progress: Progress | None = None,
                  **params: Any) -> tuple[Model, float]:
    """The C-SVC of two classes with the least mean loss subject to ||w||^2 <= ball, and its C.

    Parameters
    ----------
    X, y, kernel, progress, **params
        As :func:`hinge.train` takes them; the search begins at ``C``.
    ball : float

    Returns
    -------
    model : Model
    C : float
        Infinity where the constraint binds at no C.

    Examples
    --------
    >>> from hinge import theory
    >>> model, C = theory.tradeoff_ball([[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1], 0.5, "linear", eps=1e-7)
    >>> round(theory.model_norm2(model), 4), round(C, 3)
    (0.5, 0.196)
    """
    matrix, watch = Matrix(X), Watch(progress)
    labels = Labels(y, matrix.view.rows, "c_svc")
    settings = Params(matrix.view.rows, kernel=kernel, **labels.translate(params))
    handle, C = ffi.new("hinge_model **"), ffi.new("double *")
    watch.attach(settings.struct)
    try:
        with watch:
            settings.call(lib.hinge_tradeoff_ball, handle, matrix.view, doubles(labels.numbers),
                          ffi.new("hinge_params *", settings.struct), ball, C)
    except CallbackError:
        if watch.interrupted:
            raise KeyboardInterrupt from None
        raise
    settings.struct.progress, settings.struct.C = ffi.NULL, C[0]
    settings.arguments[1]["C"] = C[0]
    labels.give(handle[0])
    return Model(handle[0], settings, None, settings.user), float(C[0])


def tradeoff_max_margin(C: float, sum_alpha: float) -> float:
    """C of the max-margin form min -gamma + C sum xi, ||w|| = 1, that a C-SVC solution solves."""
    return float(lib.hinge_tradeoff_max_margin(C, sum_alpha))


def tradeoff_nu(C_mm: float, m: int) -> float:
    """The nu of nu-SVC that is the max-margin form with C_mm."""
    return float(lib.hinge_tradeoff_nu(C_mm, m))


# ---- quadratic programs ---------------------------------------------------------------------------------------------

def qp_outcome_text(outcome: str) -> str:
    """What the command calls an outcome."""
    return text(lib.hinge_qp_outcome_text(number_of("hinge_qp_outcome", outcome)))


def qp_solve(Q: Any = None, p: Any = None, A: Any = None, c: Any = None, E: Any = None, f: Any = None, *,
             eps: float = 0.0, max_iter: int = 0) -> dict[str, Any]:
    """Minimise 1/2 u'Qu + p'u subject to A u >= c, E u = f, a convex quadratic program, dense and in float64.

    Parameters
    ----------
    Q : array of shape (n, n), optional
        Symmetric, positive semi-definite; None: 0, a linear program.
    p : array of shape (n,), optional
    A, c : arrays of shape (k, n) and (k,), optional
    E, f : arrays of shape (l, n) and (l,), optional
    eps : float
        Relative accuracy; 0: 1e-10.
    max_iter : int
        Most steps of the interior point; 0: 200.

    Returns
    -------
    dict
        ``u``, and the multipliers ``z`` >= 0 of A and ``y`` of E: Qu + p = A'z + E'y; ``outcome``: "solved",
        "infeasible" or "unbounded", which z and y or u prove (hinge/qp.h says how), or "limit"; primal, dual,
        residual, iterations.

    Examples
    --------
    >>> from hinge import theory
    >>> theory.qp_solve([[2]], [-4], A=[[-1]], c=[-1])["u"].tolist()      # (u - 2)^2 where u <= 1
    [1.0]
    """
    arrays = {name: None if value is None else array_of(value, np.float64, name)
              for name, value in (("Q", Q), ("p", p), ("A", A), ("c", c), ("E", E), ("f", f))}
    n = next((value.shape[-1] for value in arrays.values() if value is not None and value.ndim), 0)
    rows = {name: len(value) if value is not None and value.ndim else 0 for name, value in arrays.items()}
    shapes = {"Q": (n, n), "p": (n,), "A": (rows["A"], n), "c": (rows["A"],), "E": (rows["E"], n), "f": (rows["E"],)}
    for name, value in arrays.items():
        if value is not None and value.shape != shapes[name]:
            raise InvalidArgument(f"{name} has shape {value.shape}, not {shapes[name]}")
    out = {name: np.zeros(count) for name, count in (("u", n), ("z", rows["A"]), ("y", rows["E"]))}
    problem = ffi.new("hinge_qp *", {"n": n, "n_inequalities": rows["A"], "n_equalities": rows["E"]})
    result, kept = ffi.new("hinge_qp_result *"), []
    assign(problem, "eps", eps)
    assign(problem, "max_iter", max_iter)
    for struct, name, value in [(problem, *field) for field in arrays.items()] + [(result, *f) for f in out.items()]:
        kept.append(doubles(value))
        setattr(struct, name.lower(), kept[-1])
    call(lib.hinge_qp_solve, problem, result)
    return {**out, **as_dict(result)}


for _function in (perceptron, sgd, sgd_epochs):
    _function.__module__ = __name__  # as they are known
