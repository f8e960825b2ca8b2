"""The choice of C, gamma and the like by cross-validation, all points of a grid on one Gram matrix."""
from __future__ import annotations

from typing import Any, Callable, Iterable

import numpy as np

from ._core import ffi, lib
from ._library import (InvalidArgument, Labels, Matrix, Params, Progress, Watch, array_of, as_dict, assign, doubles,
                       number_of, text, view, word_of)
from ._model import Model

_AXES = ("C", "nu", "gamma", "p", "degree", "coef0", "tau")
SCORES = {text(lib.hinge_score_name(number)): number for number in range(lib.HINGE_N_SCORES)}


class Selection:
    """What a grid search found.

    Attributes
    ----------
    points : list of dict
        Each point of the grid: its C, nu, gamma, p, degree, coef0, tau; ``state`` ("done", "known", "exact", "race",
        "failed", "waiting") and ``text``, which says why it was dropped or has failed; ``score`` over all held-out
        rows, and ``mean`` and ``deviation`` over folds, each a dict by the score's name; ``fold_score``, an array of
        shape (n_folds,) of the score that chose, or None; ``decisions`` (repeats, n, n_problems) and ``predictions``
        (repeats, n) where they were asked for; outcome, iterations, seconds.
    best : dict or None
        One of them.
    model : Model or None
        Trained with the best point's parameters on all rows.
    fold : ndarray of shape (repeats, n)
        The fold, from 0, that holds each row out; -1: none does.
    score : str
        The score that chose.
    outcome : str
        "converged", or what left points waiting: "stopped", "time_limit".
    work : dict
        Trainings, steps, kernel rows computed, and so on.
    """

    def __init__(self, selection: Any, settings: Params, labels: Labels, problems: int):
        handle = ffi.gc(selection, lib.hinge_selection_free)
        s = handle[0]
        self.score = text(lib.hinge_score_name(s.score))
        self.fold = view(s.fold, (s.repeats, s.rows), handle, "=i4")
        self.points = [self._point(s.points[k], handle, labels, problems) for k in range(s.n_points)]
        self.best = None if s.best == ffi.NULL else self.points[s.best - s.points]
        self.work = {name: value for name, value in as_dict(handle).items() if isinstance(value, (int, float))}
        self.outcome = word_of("hinge_outcome", s.outcome)
        self.model = None
        if s.model != ffi.NULL:
            settings.struct, report = s.params, ffi.new("hinge_report *", s.report)
            settings.struct.progress = ffi.NULL
            labels.give(s.model)
            self.model, s.model = Model(s.model, settings, report, settings.user), ffi.NULL

    @staticmethod
    def _point(point: Any, handle: Any, labels: Labels, problems: int) -> dict[str, Any]:
        s = handle[0]
        result = point_of(point)
        folds = view(point.fold_score, (s.n_folds, lib.HINGE_N_SCORES), handle) if point.fold_score else None
        result["fold_score"] = None if folds is None else folds[:, s.score]
        for name, shape in (("predictions", ()), ("decisions", (problems,))):
            values = getattr(point, name)
            result[name] = view(values, (s.repeats, s.rows, *shape), handle) if values else None
        if labels.words is not None and result["predictions"] is not None:
            result["predictions"] = labels.words.of(result["predictions"])
        return result


def point_of(point: Any) -> dict[str, Any]:
    """A hinge_grid_point as a dict, without its arrays."""
    result = as_dict(point)
    for name in ("score", "mean", "deviation"):
        values = getattr(point, name)
        result[name] = {score: values[number] for score, number in SCORES.items()
                        if number > 0 and not np.isnan(values[number])}
    return result


@ffi.def_extern(error=1)
def hinge_py_point(handle: Any, progress: Any) -> int:
    watch = ffi.from_handle(handle)
    return watch.run(lambda: watch.point({
        "done": progress.done, "n_points": progress.n_points, "seconds": progress.seconds,
        "point": point_of(progress.point), "best": point_of(progress.best) if progress.best else None}))


def log2_range(begin: float, end: float, step: float = 1) -> np.ndarray:
    """2**begin, 2**(begin + step), ... up to 2**end, as ``-log2c begin,end,step`` of LIBSVM's grid.py.

    Examples
    --------
    >>> import hinge
    >>> hinge.log2_range(-1, 3, 2).tolist()
    [0.5, 2.0, 8.0]
    """
    count = lib.hinge_log2_range(begin, end, step, ffi.NULL, 0)
    if count == 0:
        raise InvalidArgument(f"log2_range: {begin}, {end}, {step} is no range of 10,000 values at most")
    values = np.empty(count)
    lib.hinge_log2_range(begin, end, step, doubles(values), count)
    return values


def grid_search(X: Any, y: Any = None, task: str = "c_svc", kernel: Any = "rbf", *, C: Any = None, nu: Any = None,
                gamma: Any = None, p: Any = None, degree: Any = None, coef0: Any = None, tau: Any = None,
                folds: int = 5, repeats: int = 1, fold: Iterable[int] | None = None,
                group: Iterable[int] | None = None, score: str = "auto", by_fold: bool = False, drop: str = "none",
                one_se: bool = False, fold_eps: float = 0.0, refit: bool = True, decisions: bool = False,
                ties: str = "appearance", point: Callable[[dict[str, Any]], object] | None = None,
                progress: Progress | None = None, **params: Any) -> Selection:
    """Choose parameters by cross-validation: all points of a grid, in one call that shares what they have in common.

    Parameters
    ----------
    X, y, task, kernel, progress, **params
        As :func:`train` takes them. ``scaling`` is fitted on what each fold trains on.
    C, nu, gamma, p, degree, coef0, tau : number or sequence of numbers, optional
        What is to be tried. None: LIBSVM's grid for C and gamma, 0.05 to 0.8 for nu, otherwise train's default.
    folds, repeats : int
        Folds are drawn by ``seed``, by class; so often.
    fold : array of shape (n,), optional
        Folds of your own: the number of the one that holds a row out, from 0; -1: it is always trained on.
    group : array of shape (n,), optional
        Rows of one group are held out together.
    score : str
        "accuracy", "balanced_accuracy", "f1", "auc", "mcc", "log_loss"; "mse", "mae", "r2", "pinball"; "auto".
    by_fold : bool
        Choose by the mean of the folds' scores, not the score of all held-out rows.
    drop : {"none", "exact", "race"}
        Leave off points that cannot win, or surely do not.
    one_se : bool
        Choose the smallest C within one standard error of the best.
    fold_eps : float
        Tolerance in the folds; 0: the larger of ``eps`` and 0.1 (regression: a quarter of the targets' standard
        deviation, a thousandth where X has 100,000 values at most, and half of the held-out error, where these are
        less, or until held-out values have next to no way to go; nu-SVC: a tenth of the margin; one-class: a tenth of
        the decision values' standard deviation).
    refit : bool
        Train the best point's model.
    decisions : bool
        Keep predictions and decision values of held-out rows.
    ties : {"appearance", "label", "values"}
        Which of several classes with most votes wins in the folds: the one that appears first in y, as
        :meth:`Model.predict` has it; that of the least label, as scikit-learn; or that of the largest sum of decision
        values, as scikit-learn's ``break_ties``.
    point : callable, optional
        Called after each point with a dict: done, n_points, point, best, seconds. What it returns, if true, ends the
        search.

    Returns
    -------
    Selection
        Also where Ctrl-C, the callbacks or ``time_limit`` ended it: what was found so far.

    Examples
    --------
    >>> import numpy as np, hinge
    >>> X = np.random.default_rng(0).normal(size=(120, 2))
    >>> y = np.where((X ** 2).sum(axis=1) > 1.5, 1, -1)
    >>> found = hinge.grid_search(X, y, C=[0.1, 1, 10, 100], gamma=hinge.log2_range(-3, 1))
    >>> len(found.points), found.score, found.best["score"]["accuracy"] > 0.9
    (20, 'accuracy', True)
    >>> found.model.predict(X[:1]).shape
    (1,)
    """
    matrix, given = Matrix(X), {"C": C, "nu": nu, "gamma": gamma, "p": p, "degree": degree, "coef0": coef0, "tau": tau}
    n = matrix.view.rows
    labels = Labels(y, n, task)
    settings = Params(n, task=task, kernel=kernel, **labels.translate(params))
    options, kept = ffi.new("hinge_select_options *"), []
    for name in _AXES:
        if given[name] is not None:
            kept.append(np.atleast_1d(array_of(given[name], np.float64, name)).ravel())
            values = getattr(options, name)
            values.value, values.count = doubles(kept[-1]), len(kept[-1])
    for name, rows in (("fold", fold), ("group", group)):
        if rows is not None:
            kept.append(array_of(rows, np.int32, name, n))
            setattr(options, name, ffi.from_buffer("int[]", kept[-1]))
    if score != "auto" and score not in SCORES:
        raise InvalidArgument(f"score: {score!r} is none of {', '.join(map(repr, SCORES))}")
    options.score, options.drop = SCORES[score], number_of("hinge_drop", drop)
    options.ties = number_of("hinge_ties", ties)
    for name, value in (("folds", folds), ("repeats", repeats)):
        assign(options, name, value)
    assign(options, "eps", fold_eps, "fold_eps")
    options.by_fold, options.one_se, options.no_refit, options.decisions = by_fold, one_se, not refit, decisions
    watch = Watch(progress, point=point)
    if point is not None:
        options.point, options.point_arg = lib.hinge_py_point, watch.handle
    watch.attach(settings.struct)
    handle = ffi.new("hinge_selection **")
    struct = ffi.new("hinge_params *", settings.struct)
    try:
        with watch:
            settings.call(lib.hinge_select, handle, matrix.view, doubles(labels.numbers), struct, options)
    except BaseException:
        lib.hinge_selection_free(handle[0])
        raise
    return Selection(handle[0], settings, labels, settings.problems(labels.numbers))
