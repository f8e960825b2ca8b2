"""hinge.theory: what it gives is what plain formulas give, and every function of theory.h and qp.h is there."""
import doctest
import inspect
import math
import os
import re

import numpy as np
import pytest

import hinge
from hinge import theory

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/hinge")


def overlapping(n=60, d=2, seed=5400000):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + y[:, None] * 0.7, y


def test_every_function_of_the_headers_is_there():
    source, missing = inspect.getsource(theory) + inspect.getsource(hinge._online), []
    for header in ("theory.h", "qp.h"):
        with open(os.path.join(INCLUDE, header), encoding="utf-8") as file:
            names = re.findall(r"^HINGE_API [\w *]*?\*?hinge_(\w+)\(", file.read(), re.M)
        assert names
        missing += [name for name in names if f"lib.hinge_{name}" not in source]
    # one problem of hinge_kinds_of is one of hinge_kinds_each
    assert missing == ["kinds_of"], missing
    names = {name for name, value in vars(theory).items() if inspect.isfunction(value) and value.__module__ ==
             theory.__name__ and name[0] != "_" and not name.startswith("hinge_")}
    assert names == {name for name in theory.__all__ if name.islower()}
    assert all(getattr(theory, name).__doc__ for name in names)


def test_losses_and_decisions():
    m = np.linspace(-2, 3, 11)
    plain = {"hinge": np.maximum(0, 1 - m), "perceptron": np.maximum(0, -m), "logistic": np.log2(1 + np.exp(-m)),
             "zero_one": (m <= 0) * 1.0, "exponential": np.exp(-m)}
    assert tuple(plain) == theory.LOSSES
    for loss, values in plain.items():
        assert np.allclose(theory.loss_value(loss, m), values, rtol=1e-14)
        assert theory.loss_mean(loss, m) == pytest.approx(values.mean())
        assert theory.loss_value(loss, 0.5) == theory.loss_value(loss, [0.5])[0]
    assert (theory.loss_name("zero_one"), theory.pinball(0.9, -2), theory.slack(-1, 0.5)) == ("0-1", pytest.approx(0.2),
                                                                                             1.5)
    X, w, b = np.random.default_rng(5400001).normal(size=(7, 3)), np.eye(3)[:2], [1.0, -1.0]
    assert np.allclose(theory.linear_decisions(X, w, b), X @ w.T + b)
    assert theory.argmax([1, math.nan, 3, 3]) == 2 and (theory.sign(0), theory.sign(1e-9)) == (-1, 1)
    model = theory.linear_model(w[0], 0.5, 7, 8)
    assert np.array_equal(model.predict(X), np.where(X[:, 0] + 0.5 > 0, 7, 8))
    for refused in (lambda: theory.linear_decisions(X, [1.0]), lambda: theory.loss_value("square", 1),
                    lambda: theory.argmax([])):
        with pytest.raises(hinge.InvalidArgument):
            refused()


def test_quadratic_programs_meet_their_conditions():
    rng = np.random.default_rng(5400002)
    R, A, E = rng.normal(size=(6, 4)), rng.normal(size=(5, 6)), rng.normal(size=(2, 6))
    Q, u0 = R @ R.T, rng.normal(size=6)
    p, c, f = rng.normal(size=6) @ Q, A @ u0 - rng.uniform(0, 1, 5), E @ u0
    found = theory.qp_solve(Q, p, A, c, E, f)
    u, z, y = (found[name] for name in "uzy")
    assert found["outcome"] == "solved" and found["primal"] == pytest.approx(found["dual"])
    assert np.allclose(Q @ u + p, A.T @ z + E.T @ y, atol=1e-8) and np.allclose(E @ u, f, atol=1e-8)
    assert z.min() >= 0 and (A @ u - c).min() > -1e-8 and abs(z @ (A @ u - c)) < 1e-8
    proof = theory.qp_solve(None, None, [[1.0], [-1.0]], [1.0, 0.0])  # u >= 1, u <= 0
    assert proof["outcome"] == "infeasible" and np.allclose([[1, -1] @ proof["z"], [1, 0] @ proof["z"]], [0, 1])
    assert theory.qp_solve(None, [1.0, 0.0])["outcome"] == "unbounded"
    assert theory.qp_outcome_text("limit") == "iteration limit"
    for wrong in ((np.eye(2), [1.0]), (np.eye(2), None, np.eye(2), [1.0]), (np.eye(2), None, np.eye(2))):
        with pytest.raises(hinge.InvalidArgument):
            theory.qp_solve(*wrong)


def test_perceptron_and_sgd_are_their_recursions():
    X, y = overlapping()
    w, history = np.zeros(2), []
    for _ in range(20):
        wrong = y * (X @ w) <= 0
        w = w + 0.5 * (y[wrong] @ X[wrong])
        history.append(int((y * (X @ w) <= 0).sum()))
    found, b, rounds = theory.perceptron(X, y, step=0.5, rounds=20)
    assert np.allclose(found, w) and b == 0 and len(rounds) == 20
    assert rounds["errors"].tolist() == history
    lambda_ = theory.tradeoff_convert("sum", "lambda", 1.0, len(y))
    exact = hinge.train(X, y, kernel="linear", C=1.0, eps=1e-8)
    f = y * exact.decision_function(X)[:, 0]
    best = lambda_ * theory.model_norm2(exact) + theory.loss_mean("hinge", f)
    w, b, history = theory.sgd(X, y, lambda_, epochs=400, bias=True, seed=5400003)
    objective = lambda_ * w @ w + np.maximum(0, 1 - y * (X @ w + b)).mean()
    assert best <= objective < 1.02 * best and history["objective"][-1] == pytest.approx(objective, rel=0.02)
    assert theory.sgd(X, y, lambda_)[2].size == 0 and theory.sgd_epochs(lambda_, 3, 60) >= 5
    with pytest.raises(ZeroDivisionError):
        theory.sgd(X, y, lambda_, epochs=3, progress=lambda progress: 1 / 0)
    with pytest.raises(hinge.InvalidArgument, match="lambda"):
        theory.sgd(X, y, -1.0)


def test_losses_ball_and_hyperplanes():
    X, y = overlapping()
    for loss in theory.LOSSES:
        at = [theory.loss_value(loss, 0.3 + h) for h in (-1e-6, 1e-6)]
        assert theory.loss_slope(loss, 0.3) == pytest.approx((at[0] - at[1]) / 2e-6, abs=1e-8)
    w, b, _ = theory.sgd(X, y, 0.01, loss="logistic", bias=True, epochs=200)
    pull = 1 / (1 + np.exp(y * (X @ w + b))) / np.log(2)  # stationary: 2 lambda w = mean of y x slope, and of y slope 0
    assert np.allclose(0.02 * w, (pull * y) @ X / len(y), atol=2e-3) and abs((pull * y).mean()) < 1e-10
    model, C = theory.tradeoff_ball(X, y, 0.3, "linear", eps=1e-8)
    assert theory.model_norm2(model) == pytest.approx(0.3, rel=1e-6)
    assert theory.model_norm2(hinge.train(X, y, kernel="linear", C=C, eps=1e-8)) == pytest.approx(0.3, rel=1e-5)
    assert model.certificate(X, y)["kkt"] < 1e-6
    best = theory.loss_mean("hinge", y * model.decision_function(X)[:, 0] * model.classes[0])
    w, b, history = theory.sgd(X, y, 0, ball=0.3, bias=True, epochs=500)
    assert w @ w <= 0.3 + 1e-9 and best - 1e-6 <= history["objective"][-1] <= 1.02 * best
    v, c = theory.normalise(X, w, b)
    assert np.abs(X @ v + c).min() == pytest.approx(1) and np.allclose(v * w[0], w * v[0])
    assert theory.distance(-3, 4) == 1.5
    assert theory.bound_growth(2, 4) == 11 and theory.bound_falsification(2, 4) == pytest.approx(1 - 11 / 16)
    with pytest.raises(hinge.InvalidArgument, match="loss"):
        theory.sgd(X, y, 1, loss="zero_one")
    with pytest.raises(ZeroDivisionError):
        theory.tradeoff_ball(X, y, 0.3, progress=lambda progress: 1 / 0)


def test_features_mercer_and_radius():
    X = np.random.default_rng(5400004).normal(size=(9, 3))
    z = theory.polynomial_features(X, 3, 0.5, 2.0)
    assert z.shape == (9, theory.polynomial_dimension(3, 3)) == (9, math.comb(6, 3))
    assert np.allclose(z @ z.T, (2 + 0.5 * X @ X.T) ** 3)
    found = theory.mercer_check(X, "poly", degree=3, gamma=0.5, coef0=2.0)
    values = np.linalg.eigvalsh(z @ z.T)
    assert found["semidefinite"] and found["largest"] == pytest.approx(values[-1])
    assert not theory.mercer_check(X, lambda A, B: A @ B.T + A[:, :1])["symmetric"]
    assert theory.radius(X) == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert theory.radius(X, centred=True) == pytest.approx(np.linalg.norm(X - X.mean(axis=0), axis=1).max())
    with pytest.raises(ZeroDivisionError):
        theory.mercer_check(X, lambda A, B: 1 / 0)
    with pytest.raises(TypeError, match="C: no parameter"):
        theory.radius(X, C=1)
    with pytest.raises(hinge.SizeError):
        theory.polynomial_dimension(784, 10)


def test_kinds_by_the_definitions():
    X, y = overlapping()
    C, model = 0.5, hinge.train(X, y, gamma=0.3, C=0.5, eps=1e-9)
    (sums, rows), = theory.kinds(model, X, y)
    alpha, f = np.abs(model.beta(len(y))[0]), model.decision_function(X, precision="f64")[:, 0]
    assert np.allclose(rows["alpha"], alpha) and np.allclose(rows["f"], f * (y[0] if model.classes[0] != 1 else 1))
    words = np.where(alpha == 0, "no_sv", np.where(alpha >= C * (1 - 1e-12), "non_margin_sv", "margin_sv"))
    assert np.array_equal(np.array(theory.SV_KINDS)[rows["kind"]], words)
    assert [theory.sv_kind_of(a, C) for a in alpha] == words.tolist()
    xi = np.maximum(0, 1 - rows["y"] * rows["f"])
    assert np.allclose(rows["slack"], xi) and [theory.slack_class_of(x) for x in xi] == \
        np.array(theory.SLACK_CLASSES)[rows["slack_class"]].tolist()
    assert sum(sums["n_slack"]) == len(y) and sums["sum_alpha"] == pytest.approx(alpha.sum())
    assert theory.model_sum_alpha(model) == pytest.approx(alpha.sum())
    assert theory.model_norm2(model) == pytest.approx(sums["norm2"]) and \
        theory.margin(sums["norm2"]) == pytest.approx(sums["norm2"] ** -0.5)
    three = np.repeat([0, 1, 2], 20)
    many = hinge.train(X, three, C=C)
    assert len(theory.kinds(many, X, three)) == 3
    (one, _), = theory.kinds(many, X, three, problem=1)
    assert one["n"] == 40 and one["norm2"] == pytest.approx(theory.model_norm2(many, 1), rel=1e-6)
    with pytest.raises(hinge.InvalidArgument, match="problem: 3"):
        theory.kinds(many, X, three, problem=3)
    again = hinge.Model.from_bytes(model.to_bytes())
    assert np.array_equal(theory.model_locate(again, X, y).support, model.support)


def test_bounds_and_leave_one_out():
    R, rho, n, h, delta = 3.0, 0.7, 1000, 5, 0.05
    assert theory.bound_vc_fat(R, rho, 4) == 5 and theory.bound_vc_slides(R, rho, math.inf) == math.ceil(36 / 0.49)
    assert theory.bound_vc_risk(0.1, h, n, delta) == pytest.approx(
        0.1 + 2 * math.sqrt(2 * (h * math.log(2 * math.e * n / h) + math.log(2 / delta)) / n))
    assert theory.bound_stability(0.1, 4, 0.01, R, n) == pytest.approx(0.1 + 0.04 + 2 * 9 / 10)
    assert theory.bound_stability_best(R, 2, n) == pytest.approx(math.sqrt(8 * 9 * 4 / n))
    assert theory.stability_lambda(R, 2, n) == pytest.approx(math.sqrt(2 * 9 / (4 * n)))
    C_mm = theory.tradeoff_max_margin(1.0, 4.0)
    assert (C_mm, theory.tradeoff_nu(C_mm, 8)) == (0.25, 0.5) and math.isnan(theory.tradeoff_convert("sum", "mean", 0, 8))
    X, y = overlapping(30)
    words = np.where(y > 0, "up", "down")
    found = theory.leave_one_out(X, words, gamma=0.5, C=2.0, eps=1e-8)
    one_by_one = [str(hinge.train(np.delete(X, i, 0), np.delete(words, i), gamma=0.5, C=2.0, eps=1e-8).predict(X[i:i + 1])[0])
                  for i in range(30)]
    assert found["predictions"].tolist() == one_by_one and found["errors"] == (found["predictions"] != words).sum()
    assert found["error"] <= found["bound"] == theory.bound_leave_one_out(found["n_sv"], 30)


def test_docstrings():
    assert doctest.testmod(theory).failed == 0
