"""Linear classifiers round by round: the perceptron and stochastic subgradients of hinge.theory."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._core import ffi, lib
from ._library import Matrix, Progress, Watch, assign, call, doubles, number_of, threads_of, vector


def _walk(function: Any, kind: str, X: Any, y: Any, rounds: int, threads: int | None, progress: Progress | None,
          fields: dict[str, Any], *counts: Any) -> tuple[np.ndarray, float, np.ndarray]:
    """w, b and history of a method that goes round by round; counts: where it says how many."""
    matrix, options, watch = Matrix(X), ffi.new(f"{kind} *"), Watch(progress)
    for name, value in fields.items():
        assign(options, "lambda" if name == "lambda_" else name, value, name)
    assign(options, "threads", threads_of(threads))
    history = ffi.new("hinge_online_round[]", rounds) if rounds else ffi.NULL
    w, b = np.empty(matrix.view.cols), ffi.new("double *")
    targets = vector(y, matrix.view.rows, "y")
    with watch:
        watch.attach(options)
        call(function, matrix.view, doubles(targets), options, doubles(w), b if fields["bias"] else ffi.NULL, history,
             *counts)
    if watch.interrupted:
        raise KeyboardInterrupt
    done = counts[0][0] if counts else rounds
    table = np.zeros(done, [("objective", "f8"), ("errors", "u8")])
    for k in range(done):
        table[k] = history[k].objective, history[k].errors
    return w, float(b[0]), table


def perceptron(X: Any, y: Any, *, step: float = 1.0, rounds: int = 1000, batch: int = 0, bias: bool = False,
               strict: bool = False, w0: Any = None, seed: int = 0, threads: int | None = 0,
               progress: Progress | None = None) -> tuple[np.ndarray, float, np.ndarray]:
    """Train a perceptron: w += step * sum of y x over the rows with y f <= 0, round by round.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        +1 and -1.
    step, rounds, batch, bias, strict, seed
        As in hinge_perceptron_options; ``batch=0`` is all rows at once, ``batch=1`` the classical perceptron.
    w0 : array of shape (d,), optional
        Where w begins; None: 0.
    progress : callable, optional
        As :func:`hinge.train` takes it.

    Returns
    -------
    w : ndarray of shape (d,)
    b : float
    history : ndarray of shape (rounds that were carried out,)
        Fields ``objective``, the mean of max(0, -y f), and ``errors``.

    Examples
    --------
    >>> from hinge import theory
    >>> X, y = [[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1]
    >>> w, b, history = theory.perceptron(X, y, bias=True)
    >>> history["errors"].tolist()
    [2, 1, 0]
    """
    fields = {"step": step, "rounds": rounds, "batch": batch, "bias": bool(bias), "strict": bool(strict), "seed": seed}
    start = None if w0 is None else vector(w0, Matrix(X).view.cols, "w0")
    fields["w0"] = doubles(start)
    return _walk(lib.hinge_perceptron, "hinge_perceptron_options", X, y, rounds or 1000, threads, progress, fields,
                 ffi.new("size_t *"))


def sgd(X: Any, y: Any, lambda_: float, *, epochs: int = 0, batch: int = 1, eta: float = 0.0, power: float = 0.0,
        bias: bool = False, last: bool = False, seed: int = 0, loss: str = "hinge", ball: float = 0.0,
        threads: int | None = 0, progress: Progress | None = None) -> tuple[np.ndarray, float, np.ndarray]:
    """Train a soft SVM by stochastic subgradients: min lambda ||w||^2 + mean of max(0, 1 - y f), or of another loss.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        +1 and -1.
    lambda_ : float
        See :func:`tradeoff_convert`; 0 where there is a ball or eta.
    epochs : int
        Passes over the rows; 0: as many as :func:`sgd_epochs` says.
    batch, eta, power, bias, last, seed
        As in hinge_sgd_options; ``eta=0`` is the Pegasos step 1 / (2 lambda t).
    loss : {"hinge", "logistic", "exponential", "perceptron"}
    ball : float
        Minimise subject to ||w||^2 <= ball; 0: there is no such bound.
    progress : callable, optional
        As :func:`hinge.train` takes it.

    Returns
    -------
    w : ndarray of shape (d,)
    b : float
    history : ndarray of shape (epochs,)
        Fields ``objective`` and ``errors`` after each epoch; empty for ``epochs=0``.

    Examples
    --------
    >>> from hinge import theory
    >>> X, y = [[0, 0], [2, 2], [2, 0], [3, 0]], [-1, -1, 1, 1]
    >>> w, b, history = theory.sgd(X, y, 0.5, epochs=2000, bias=True, seed=1)
    >>> float(history["objective"][-1].round(2))
    0.6
    """
    fields = {"lambda_": lambda_, "epochs": epochs, "batch": batch, "eta": eta, "power": power, "bias": bool(bias),
              "last": bool(last), "seed": seed, "loss": number_of("hinge_loss", loss), "ball": ball}
    return _walk(lib.hinge_sgd, "hinge_sgd_options", X, y, epochs, threads, progress, fields)


def sgd_epochs(lambda_: float, radius: float, m: int, batch: int = 1) -> int:
    """The epochs after which :func:`sgd` is mostly within 1e-2 of the optimum, where w = 0 is worth 1, on m rows of
    norm ``radius`` at most."""
    return int(lib.hinge_sgd_epochs(lambda_, radius, m, batch))
