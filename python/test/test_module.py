"""The module hinge: what it gives is what the library and its command give, nothing is copied or lost on the way."""
import doctest
import gc
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import hinge
import hinge.theory
import page

COMMAND = os.environ.get("HINGE_COMMAND")


def rings(n=200, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.where((X ** 2).sum(axis=1) > d, 1.0, -1.0)


def kernel_matrix(A, B, gamma):
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


# ---- truth ----------------------------------------------------------------------------------------------------------

def test_decision_values_are_the_sum_over_support_vectors():
    X, y = rings()
    model = hinge.train(X, y, gamma=0.5, precision="f64")
    f = kernel_matrix(X, X[model.support], 0.5) @ model.dual_coef[0] - model.rho[0]
    assert np.allclose(model.decision_function(X, precision="f64")[:, 0], f, rtol=0, atol=1e-10)
    assert np.array_equal(model.support_vectors, X[model.support])
    assert np.array_equal(model.predict(X), model.classes[np.where(f > 0, 0, 1)])
    assert model.n_support.sum() == model.n_sv == len(model.support)


@pytest.mark.parametrize("maker", ["gemm", "panels", "lists"])
def test_makers_by_name(maker):
    X, y = rings()
    model = hinge.train(X, y, gamma=0.5, maker=maker)
    assert f", {maker} f" in model.report["path"]
    f = kernel_matrix(X, X[model.support], 0.5) @ model.dual_coef[0] - model.rho[0]
    assert np.allclose(model.decision_function(X, maker=maker)[:, 0], f, rtol=0, atol=1e-4)
    with pytest.raises(hinge.InvalidArgument, match="maker: counts cannot make"):
        model.predict(X, maker="counts")


@pytest.mark.parametrize("task", ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"])
def test_certificate_is_near_zero(task):
    X, y = rings()
    model = hinge.train(X, y, task, gamma=0.5, nu=0.2, eps=1e-6)
    certificate = model.certificate(X, y)
    assert model.report["outcome"] == "converged"
    assert 0 <= certificate["gap"] < 1e-4 * max(1, abs(certificate["primal"]))
    assert certificate["kkt"] < 1e-5 and certificate["box_residual"] == 0
    # of alphas that are not the optimum it says so: C was another one
    other = hinge.train(X, y, task, gamma=0.05, nu=0.2)
    other._params = model._params
    assert other.certificate(X, y)["kkt"] > 1e-3


def test_user_kernel_is_the_builtin_one():
    X, y = rings()
    model = hinge.train(X, y, kernel=lambda A, B: kernel_matrix(A, B, 0.5), eps=1e-8)
    expected = hinge.train(X, y, gamma=0.5, eps=1e-8).decision_function(X)
    assert np.allclose(model.decision_function(X), expected, atol=1e-6)


def test_predictions_tell_what_was_done():
    X, y = rings()
    model = hinge.train(X, y, gamma=0.5, eps=1e-8)
    exact = model.decision_function(X, precision="f64")
    rows = {"rows": len(X), "promise": 1e-4 * max(1, abs(model.rho[0]))}
    for precision in "f32", "f64":
        told = {"kept": 1}
        f = model.decision_function(X, precision=precision, report=told)
        assert {"kept": 1, **rows}.items() <= told.items() and np.abs(f - exact).max() <= told["bound"] + 1e-12
        assert told["rows_f64"] == (0 if precision == "f32" else len(X)) and (told["bound"] > 0) == (precision == "f32")
        assert (model.predict(X, precision=precision, report=told) == model.predict(X)).all()
        assert rows.items() <= told.items()
    told = {}
    model.calibrate(X, y).predict_proba(X, report=told)
    assert rows.items() <= told.items()
    with pytest.raises(hinge.InvalidArgument):
        model.predict(X[:, :1], report=(refused := {}))
    assert refused == {}


def distance_kernel(kernel, A, B, gamma):
    """The definitions of kernels of the distance."""
    if kernel in ("chi2", "tanimoto"):  # a value below 0 is as if it were a feature of its own
        A, B = (np.hstack([np.maximum(M, 0), np.maximum(-M, 0)])[:, None] for M in (A, B))
        B, sums = B.swapaxes(0, 1), A + B.swapaxes(0, 1)
        with np.errstate(invalid="ignore"):
            ratio = np.nan_to_num((A - B) ** 2 / sums).sum(axis=2)
        return np.exp(-gamma * ratio) if kernel == "chi2" else \
            np.minimum(A, B).sum(axis=2) / np.maximum(A, B).sum(axis=2)
    if kernel == "laplacian":
        return np.exp(-gamma * np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))
    r = np.sqrt(gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))
    return (1 + r + (r ** 2 / 3 if kernel == "matern52" else 0)) * np.exp(-r)


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "laplacian", "chi2", "tanimoto"])
def test_kernels_by_definition(kernel):
    X, y = rings()
    model = hinge.train(X, y, kernel=kernel, gamma=0.5, precision="f64")
    f = distance_kernel(kernel, X, X[model.support], 0.5) @ model.dual_coef[0] - model.rho[0]
    assert np.allclose(model.decision_function(X, precision="f64")[:, 0], f, rtol=0, atol=1e-10)
    expected = hinge.train(X, y, kernel=lambda A, B: distance_kernel(kernel, A, B, 0.5), eps=1e-8)
    model = hinge.train(X, y, kernel=kernel, gamma=0.5, eps=1e-8)
    assert np.allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_combined_kernel(tmp_path):
    X, y = rings()
    X = np.hstack([X[:, :2], np.abs(X[:, :2])])
    text = "2*rbf(1-2,gamma=0.7)*poly(2-,degree=2,coef0=1)+0.5*chi2(3-4)"

    def values(A, B):
        poly = (A[:, 1:] @ B[:, 1:].T / 3 + 1) ** 2
        return 2 * kernel_matrix(A[:, :2], B[:, :2], 0.7) * poly + 0.5 * distance_kernel("chi2", A[:, 2:], B[:, 2:], 0.5)

    model = hinge.train(X, y, kernel=text, eps=1e-8)
    assert model.kernel["type"] == "combined"
    assert model.kernel["name"] == \
        "2*rbf(1-2,gamma=0.7)*polynomial(2-4,gamma=0.3333333333333333,coef0=1,degree=2)+0.5*chi2(3-4,gamma=0.5)"
    expected = hinge.train(X, y, kernel=values, eps=1e-8)
    assert np.allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)
    assert model.certificate(X, y)["kkt"] <= 1e-7
    model.save(tmp_path / "model")
    for again in hinge.Model.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)):
        assert again.kernel == model.kernel
        assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert hinge.theory.mercer_check(X, text)["semidefinite"]
    assert hinge.grid_search(X, y, kernel=text, C=[0.1, 1]).model.kernel["name"] == model.kernel["name"]
    assert hinge.train(X, y, kernel="rbf(gamma=2)").kernel == hinge.train(X, y, gamma=2).kernel
    for wrong, words in {"rbf(1-2)+foo": "'foo' is no kernel", "rbf(1-9)+linear": "columns 1 to 9"}.items():
        with pytest.raises(hinge.InvalidArgument, match=words):
            hinge.train(X, y, kernel=wrong)
    with pytest.raises(hinge.InvalidArgument, match="stand in it"):
        hinge.train(X, y, kernel=text, gamma=1)
    with pytest.raises(hinge.InvalidArgument, match="combined"):
        model.shap_values(X)


def test_precomputed_kernel():
    X, y = rings()
    K = kernel_matrix(X, X, 0.5)
    model = hinge.train(K, y, kernel="precomputed", eps=1e-8)
    expected = hinge.train(X, y, gamma=0.5, eps=1e-8).decision_function(X)
    assert np.allclose(model.decision_function(K), expected, atol=1e-6)


def test_three_classes_and_weights():
    X, _ = rings(300, 2)
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(float)
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    weighted = hinge.train(X, y, sample_weight=weights, class_weight={0: 2.0}, eps=1e-9, precision="f64")
    repeated = hinge.train(np.repeat(X, weights.astype(int), axis=0), np.repeat(y, weights.astype(int)),
                           class_weight={0: 2.0}, eps=1e-9, precision="f64")
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    rest = hinge.train(X, y, multiclass="one_vs_rest")
    decisions = rest.decision_function(X)
    assert decisions.shape == (300, 3) and rest.dual_coef.shape == (3, rest.n_sv)
    assert np.array_equal(rest.predict(X), rest.classes[decisions.argmax(axis=1)])


def test_several_targets(tmp_path):
    X = np.random.default_rng(5305).normal(size=(90, 4))
    Y = np.sign(np.stack([X[:, 0], X[:, 0] * X[:, 1], X[:, 2] + 0.3], axis=1))
    weights = np.random.default_rng(5306).integers(0, 3, Y.shape)
    C = [0.1, 1.0, 10.0]
    many = hinge.train(X, Y, C=C, sample_weight=weights, eps=1e-8, precision="f64")
    assert many.n_targets == 3 and many.dual_coef.shape == (3, many.n_sv)
    for t in range(3):
        one = hinge.train(X, Y[:, t], C=C[t], sample_weight=weights[:, t], eps=1e-8, precision="f64", positive_class=1)
        assert np.allclose(many.predict(X)[:, t], one.decision_function(X)[:, 0], atol=1e-6)
    certificate = many.certificate(X, Y)
    assert certificate["kkt"] <= 1.001e-8 and 0 <= certificate["gap"] < 1e-5 * certificate["primal"]
    assert abs(certificate["dual"] + many.report["objective"]) < 1e-6 * certificate["primal"]
    many.save(tmp_path / "model")
    assert (hinge.Model.load(tmp_path / "model").predict(X) == many.predict(X)).all()
    for y, settings, words in ((Y[:5], {}, "shape"), (Y, {"C": [1.0]}, "C"), (Y + 1, {}, "not .1 or -1"),
                               (Y, {"sample_weight": weights.T}, "sample_weight has shape"),
                               (Y, {"beta0": np.zeros((3, 90))}, "beta0")):
        with pytest.raises(ValueError, match=words):
            hinge.train(X, y, **settings)


def test_linear_weights_and_beta():
    X, y = rings()
    model = hinge.train(X, y, kernel="linear")
    assert np.allclose(X @ model.coef()[0] - model.rho[0], model.decision_function(X)[:, 0], atol=1e-5)
    beta = model.beta(len(X))
    assert np.allclose(beta[0] @ X, model.coef()[0], atol=1e-9)
    again = hinge.train(X, y, kernel="linear", beta0=beta, solver="smo")
    assert again.report["iterations"] <= model.report["iterations"] or again.report["iterations"] < 100


def test_scaling_is_kept_by_the_model():
    X, y = rings()
    raw = X * [1, 100, 0.01] + [0, 5, 0]
    model = hinge.train(raw, y, scaling=(-1, 1))
    factor, offset = model.scaling
    assert np.allclose((raw * factor + offset).min(axis=0), -1) and np.allclose((raw * factor + offset).max(axis=0), 1)
    plain = hinge.train(raw * factor + offset, y)
    assert np.allclose(plain.decision_function(raw * factor + offset), model.decision_function(raw), atol=1e-4)
    plain.scaling = (factor, offset)
    assert np.allclose(plain.decision_function(raw), model.decision_function(raw), atol=1e-4)
    assert model.certificate(raw, y)["kkt"] < 0.01
    plain.scaling = None
    assert plain.scaling is None


def test_cross_validation_calibration_and_path():
    X, y = rings(400)
    predictions = hinge.cross_validate(X, y, folds=4, C=10.0)
    assert set(predictions) == {-1.0, 1.0} and (predictions == y).mean() > 0.9
    model = hinge.train(X[:300], y[:300], C=10.0)
    with pytest.raises(hinge.InvalidArgument):
        model.predict_proba(X)
    p = model.calibrate(X[300:], y[300:]).predict_proba(X)
    assert model.calibrated and np.allclose(p.sum(axis=1), 1)
    assert ((p[:, 0] > 0.5) == (y == model.classes[0])).mean() > 0.9
    for C, model in zip([0.1, 1.0, 10.0], hinge.path(X, y, [0.1, 1.0, 10.0], eps=1e-8)):
        assert np.allclose(model.decision_function(X), hinge.train(X, y, C=C, eps=1e-8).decision_function(X), atol=1e-5)
    for model in hinge.path(X, np.where(y > 0, "out", "in"), [10.0, 1.0], kernel="linear"):
        assert "interior-point" in model.report["path"] and set(model.predict(X)) <= {"in", "out"}


# ---- labels that are words ------------------------------------------------------------------------------------------

NAMES = np.array(["zo\u00eb maple", "100 %", "ash"])  # not in the order of their numbers


def named(n=300):
    X, _ = rings(n, 2)
    numbers = np.digitize(X[:, 0], [-0.5, 0.5])
    return X, numbers, NAMES[numbers]


@pytest.mark.parametrize("kind", [list, np.array, lambda y: np.array(y, object), lambda y: np.char.encode(y, "utf-8")])
def test_words_are_numbers_by_another_name(kind):
    X, numbers, words = named()
    settings = {"C": 10.0, "gamma": 0.5}
    plain = hinge.train(X, numbers, **settings, class_weight={2: 3.0, 0: 0.5})
    model = hinge.train(X, kind(words.tolist() if kind is list else words), **settings,
                        class_weight={"ash": 3.0, "zo\u00eb maple": 0.5})
    assert np.array_equal(model.decision_function(X), plain.decision_function(X))
    assert np.array_equal(model.predict(X), NAMES[plain.predict(X).astype(int)])
    assert model.classes.tolist() == NAMES[plain.classes.astype(int)].tolist()
    assert model.certificate(X, words) | {"seconds": 0} == plain.certificate(X, numbers) | {"seconds": 0}
    assert np.array_equal(model.calibrate(X, words).predict_proba(X), plain.calibrate(X, numbers).predict_proba(X))


def test_words_stay_in_files(tmp_path):
    X, _, words = named()
    model = hinge.train(X, words)
    model.save(tmp_path / "model")
    for same in (hinge.Model.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(same.predict(X), model.predict(X)) and np.array_equal(same.classes, model.classes)
    assert same.certificate(X, words)["kkt"] == model.certificate(X, words)["kkt"]
    words = np.char.replace(words, " ", "_")
    (tmp_path / "data").write_text("".join(f"{w} 1:{a!r} 2:{b!r}\n" for w, (a, b) in zip(words, X.tolist())))
    read, labels = hinge.load_libsvm(tmp_path / "data")
    assert np.array_equal(labels, words) and np.array_equal(read, X)
    if COMMAND:
        env = dict(os.environ, HINGE_NO_RESTART="1") if hinge.info()["blas_slow"] else None
        subprocess.run([COMMAND, "train", "-q", str(tmp_path / "data"), str(tmp_path / "theirs")], check=True, env=env)
        assert (tmp_path / "theirs").read_bytes() == hinge.train(X, labels).to_bytes()


def test_words_in_folds_and_searches():
    X, numbers, words = named()
    predicted = hinge.cross_validate(X, numbers, C=10.0, folds=4)
    assert np.array_equal(hinge.cross_validate(X, words, C=10.0, folds=4), NAMES[predicted.astype(int)])
    settings = {"C": [0.1, 10.0], "gamma": [0.1, 1.0], "folds": 4, "decisions": True, "score": "f1"}
    found = hinge.grid_search(X, words, **settings, positive_class="ash")
    plain = hinge.grid_search(X, numbers, **settings, positive_class=2)
    assert [p["score"] for p in found.points] == [p["score"] for p in plain.points]
    for ours, theirs in zip(found.points, plain.points):
        assert np.array_equal(ours["predictions"], NAMES[theirs["predictions"].astype(int)])
    assert np.array_equal(found.model.predict(X), NAMES[plain.model.predict(X).astype(int)])
    stopped = hinge.cross_validate(X, words, progress=lambda p: 1)
    assert set(stopped) <= {"", *NAMES} and "" in stopped


def test_words_that_are_refused():
    X, _, words = named()
    for labels, message in ((np.where(words == "ash", "", words), "empty"),
                            (np.where(words == "ash", "a\tb", words), "control"), (words[:-1], "shape"),
                            ([None, *words[1:]], "y holds texts and None"),
                            (np.arange(len(X)) % 2 + 2 ** 60, "beyond 2.53")):
        with pytest.raises(hinge.InvalidArgument, match=message):
            hinge.train(X, labels)
    with pytest.raises(hinge.InvalidArgument, match="epsilon_svr takes numbers"):
        hinge.train(X, words, "epsilon_svr")
    with pytest.raises(hinge.InvalidArgument, match="'oak' is none of the labels '.*'"):
        hinge.train(X, words, class_weight={"oak": 1.0})
    with pytest.raises(hinge.InvalidArgument, match="'oak' is none"):
        hinge.train(X, words).calibrate(X, ["oak", *words[1:]])


# ---- the command ----------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not COMMAND, reason="HINGE_COMMAND names no hinge command")
@pytest.mark.parametrize("task, options, params", [
    ("c_svc", ["-c", "10", "-g", "0.5"], {"C": 10.0, "gamma": 0.5}),
    ("c_svc", ["-t", "linear", "--scale"], {"kernel": "linear", "scaling": (-1, 1)}),
    ("nu_svc", ["-n", "0.2", "--precision", "f64"], {"nu": 0.2, "precision": "f64"}),
    ("one_class", ["-n", "0.1"], {"nu": 0.1}),
    ("epsilon_svr", ["-p", "0.2", "-t", "polynomial", "-r", "1"], {"p": 0.2, "kernel": "polynomial", "coef0": 1.0}),
    ("nu_svr", ["-e", "1e-6"], {"eps": 1e-6})])
def test_models_and_predictions_are_the_commands(tmp_path, task, options, params):
    X, y = rings()
    data, model_file, predicted = (str(tmp_path / name) for name in ("data", "model", "predicted"))
    hinge.dump_libsvm(X, y, data)
    # with the same kernels of OpenBLAS: a NumPy that loaded it first has chosen for hinge too
    env = dict(os.environ, HINGE_NO_RESTART="1") if hinge.info()["blas_slow"] else None
    subprocess.run([COMMAND, "train", "-q", "-s", task, *options, data, model_file], check=True, env=env)
    subprocess.run([COMMAND, "predict", "-q", data, model_file, predicted], check=True, env=env)
    model = hinge.train(X, y, task, **params)
    model.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "model").read_bytes() == model.to_bytes()
    assert np.array_equal(np.loadtxt(predicted), model.predict(X))
    assert np.array_equal(np.loadtxt(predicted), hinge.Model.load(model_file).predict(X))


# ---- arrays ---------------------------------------------------------------------------------------------------------

def test_layouts_give_the_same_model():
    X, y = rings()
    expected = hinge.train(X, y).to_bytes()
    wide = np.zeros((400, 7))
    wide[::2, 2:5] = X
    for same in (np.asfortranarray(X), wide[::2, 2:5], X[::-1][::-1], X.tolist(), X.astype(">f8"), X.view()):
        assert hinge.train(same, list(y)).to_bytes() == expected
    # one row or one column of any strides, and rows backwards
    model = hinge.train(X, y)
    assert np.array_equal(model.predict(X[::-1]), model.predict(X)[::-1])
    assert np.array_equal(model.predict(wide[::2, 2:5][5:6]), model.predict(X[5:6]))
    column = X[:, 1:2]
    assert hinge.train(column, y).to_bytes() == hinge.train(column.copy(), y).to_bytes()


def test_float32_is_taken_as_it_is():
    X, y = rings()
    X32 = X.astype(np.float32)
    models = [hinge.train(same, y, precision="f64").to_bytes() for same in (X32, X32.astype(float))]
    assert models[0] == models[1]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16, bool])
def test_small_types_are_taken_as_they_are(dtype):
    X, y = rings()
    low, high = (0, 1) if dtype is bool else (-100, 100) if dtype is np.int8 else (0, 200)
    whole = np.clip(np.round(X * 20) + (low + high) // 2, low, high)
    small = whole.astype(dtype)
    assert (small.astype(float) == whole).all()
    for given, same in (small, whole), (np.asfortranarray(small), whole), (small[::2, :2], whole[::2, :2]):
        labels = y if len(same) == len(y) else y[::2]
        assert hinge._library.Matrix(given).array is given
        models = [hinge.train(rows, labels, gamma=1e-3) for rows in (given, same)]
        assert models[0].to_bytes() == models[1].to_bytes()
        assert np.array_equal(models[0].decision_function(given), models[1].decision_function(same))
        assert len(hinge.cross_validate(given, labels, folds=3)) == len(labels)
    with pytest.raises(hinge.InvalidArgument, match="nan"):
        hinge.train(np.full((2, 2), np.nan, np.float16), [1, -1])


def test_empty_and_wrong_input():
    X, y = rings()
    model = hinge.train(X, y)
    assert model.predict(np.zeros((0, 3))).shape == (0,)
    for wrong in (X[0], X[:, :2], np.full((1, 3), np.nan), np.zeros((1, 2, 3))):
        with pytest.raises(hinge.InvalidArgument):
            model.predict(wrong)
    with pytest.raises(hinge.InvalidArgument, match="y"):
        hinge.train(X, y[:-1])
    with pytest.raises(hinge.InvalidArgument, match="nonsense"):
        hinge.train(X, y, "nonsense")
    with pytest.raises(TypeError, match="costs"):
        hinge.train(X, y, costs=3)
    for name, value in [("C", "a"), ("C", None), ("C", 0), ("nu", 0), ("tau", 0), ("eps", 0.0), ("gamma", "x"),
                        ("gamma", -1), ("degree", 1.5), ("eps", "b"), ("seed", -1), ("max_iter", 1.5),
                        ("kernel", "foo"), ("precision", "f16"), ("progress", 3), ("scaling", "x"),
                        ("scaling", (1, 2, 3)), ("class_weight", {"a": "b"}), ("class_weight", "balanced"),
                        ("beta0", "x"), ("beta0", [1.0]),
                        ("beta0", np.zeros((3, len(X)))), ("precomputed_index", [0]),
                        ("sample_weight", [1])]:
        with pytest.raises(hinge.InvalidArgument, match=name):
            hinge.train(X, y, **{name: value})
    for name, value in [("C", "a"), ("folds", 2.5), ("fold_eps", "x"), ("score", "best"), ("drop", "all"),
                        ("fold", [1]), ("group", "x")]:
        with pytest.raises(hinge.InvalidArgument, match=name):
            hinge.grid_search(X, y, **{name: value})
    for name, call in [("threads", lambda: model.predict(X, threads=1.5)),
                       ("folds", lambda: hinge.cross_validate(X, y, folds=-1)),
                       ("n_features", lambda: hinge.load_libsvm("none", n_features=2.5))]:
        with pytest.raises(hinge.InvalidArgument, match=name):
            call()
    for wrong in ([[1, 2], [3]], X * 1j, [["a", "b"]]):
        with pytest.raises(hinge.InvalidArgument, match="X"):
            hinge.train(wrong, y)


def resident(most=False):
    """Bytes of the process's memory: now, or the most since this was last asked."""
    with open("/proc/self/status", encoding="ascii") as file:
        key = "VmHWM:" if most else "VmRSS:"
        size = next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return size


@pytest.mark.parametrize("dtype, order", [("f4", "C"), ("f8", "C"), ("f8", "F")])
def test_arrays_are_not_copied(dtype, order):
    X, y = rings(4000, 200)
    X = np.asarray(X, dtype=dtype, order=order)
    model = hinge.train(X[:200], y[:200])
    tracemalloc.start()
    hinge.train(X, y, max_iter=10, threads=1)
    model.predict(X)
    model.decision_function(X)
    hinge.cross_validate(X, y, 2, max_iter=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 4, "NumPy's and Python's memory: labels and predictions only"


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="no /proc")
def test_the_library_holds_no_copy_of_its_input():
    X, y = rings(20_000, 500)  # 80 MB
    settings = {"threads": 1, "precision": "f64", "cache_bytes": 1 << 20, "max_iter": 20}
    model = hinge.train(X[:100], y[:100], **settings)
    before = resident()
    model.predict(X, threads=1)
    assert resident(most=True) - before < X.nbytes / 4
    hinge.train(X, y, **settings)
    assert resident(most=True) - before < X.nbytes / 2


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="no /proc")
def test_a_thousand_trainings_leak_nothing():
    X, y = rings(100, 50)

    def rounds(n):
        for _ in range(n):
            model = hinge.train(X, y, threads=1, progress=lambda p: 0)
            hinge.Model.from_bytes(model.to_bytes()).predict(X, threads=1)
            with pytest.raises(hinge.InvalidArgument):
                hinge.train(X, y, C=-1.0)
            with pytest.raises(ZeroDivisionError):
                hinge.train(X, y, threads=1, progress=lambda p: 1 / 0)
        gc.collect()

    rounds(100)
    before = resident()
    rounds(1000)
    assert resident() - before < 4_000_000, "a model is 40 KB: a thousand of them are 40 MB"


def test_views_outlive_the_model():
    X, y = rings()
    model = hinge.train(X, y)
    coef, labels, expected = model.dual_coef, model.classes, model.dual_coef.copy()
    assert not coef.flags.writeable and not coef.flags.owndata
    del model
    gc.collect()
    churn = [hinge.train(X, y, C=c) for c in (1.0, 2.0, 3.0)]
    assert np.array_equal(coef, expected) and sorted(labels) == [-1, 1] and churn


# ---- files and errors -----------------------------------------------------------------------------------------------

def test_files_round_trip(tmp_path):
    X, y = rings()
    X[::3, 1] = 0
    hinge.dump_libsvm(X, y, tmp_path / "data")
    read, labels = hinge.load_libsvm(tmp_path / "data", n_features=5)
    assert read.shape == (200, 5) and np.array_equal(read[:, :3], X) and np.array_equal(labels, y)
    assert hinge.load_libsvm(str(tmp_path / "data"), dtype="f4")[0].dtype == np.float32
    model = hinge.train(X, y)
    model.save(tmp_path / "model")
    for same in (hinge.Model.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(same.decision_function(X), model.decision_function(X))
    same = pickle.loads(pickle.dumps(model))
    assert np.array_equal(same.support, model.support)
    assert same.certificate(X, y)["gap"] == model.certificate(X, y)["gap"]
    with pytest.raises(hinge.FileError, match="nowhere"):
        hinge.Model.load(tmp_path / "nowhere")
    (tmp_path / "bad").write_text("1 1:1\n1 2:x\n")
    with pytest.raises(hinge.FormatError) as caught:
        hinge.load_libsvm(tmp_path / "bad")
    assert caught.value.line == 2 and isinstance(caught.value, ValueError)


def scalar(A, B):
    return A @ B.T


def test_user_kernels_in_files():
    X, y = rings()
    model = hinge.train(X, y, kernel=scalar)
    assert model.kernel["name"] == "scalar"
    same = pickle.loads(pickle.dumps(model))
    assert np.array_equal(same.decision_function(X), model.decision_function(X))
    with pytest.raises(hinge.Error, match="scalar"):
        hinge.Model.from_bytes(model.to_bytes())
    with pytest.raises(ZeroDivisionError):
        hinge.train(X, y, kernel=lambda A, B: 1 / 0)
    with pytest.raises(hinge.InvalidArgument, match="shape"):
        hinge.train(X, y, kernel=lambda A, B: A)


# ---- progress and Ctrl-C --------------------------------------------------------------------------------------------

def test_progress_and_stop():
    X, y = rings(500)
    seen = []
    model = hinge.train(X, y, C=1e4, progress=lambda p: seen.append(p) or len(seen) >= 2)
    assert model.report["outcome"] == "stopped" and len(seen) == 2
    assert seen[0]["n"] == 500 and model.predict(X).shape == (500,)

    def fails(progress):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        hinge.train(X, y, progress=fails)


def press(progress):
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_keeps_the_model():
    X, y = rings(500)
    for _ in range(2):
        model = hinge.train(X, y, C=1e4, progress=press)
        assert model.report["outcome"] == "stopped" and model.predict(X).shape == (500,)
    assert hinge.train(X, y).report["outcome"] == "converged"
    assert [m.report["outcome"] for m in hinge.path(X, y, [1e4, 1e5], progress=press)] == ["stopped"]
    with pytest.raises(KeyboardInterrupt):  # there is no half result
        hinge.cross_validate(X, y, C=1e4, progress=press)
    with pytest.raises(KeyboardInterrupt):  # Python's own handler is back
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_for_a_handler_of_ones_own():
    X, y = rings(500)
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        assert hinge.train(X, y, C=1e4, progress=press).report["outcome"] == "stopped"
        assert heard == [1]
    finally:
        signal.signal(signal.SIGINT, before)


# ---- threads and processes ------------------------------------------------------------------------------------------

def test_trainings_side_by_side():
    X, y = rings(600)
    expected = {C: hinge.train(X, y, C=C, threads=1).to_bytes() for C in (1.0, 10.0)}
    models = {}

    def work(key, C, threads):
        models[key] = hinge.train(X, y, C=C, threads=threads).to_bytes()

    workers = [threading.Thread(target=work, args=((i, C), C, threads)) for i in range(3)
               for C, threads in ((1.0, 1), (10.0, 2))]
    for worker in workers:
        worker.start()
    product = X.T @ X  # NumPy's BLAS beside it
    for worker in workers:
        worker.join()
    assert len(models) == 6 and all(models[i, C] == expected[C] for i, C in models)
    assert np.array_equal(product, X.T @ X)


def test_python_runs_during_a_training():
    X, y = rings(600)
    begun, go_on = threading.Event(), threading.Event()

    def kernel(A, B):
        begun.set()
        assert go_on.wait(60)
        return kernel_matrix(A, B, 0.5)

    worker = threading.Thread(target=lambda: hinge.train(X, y, kernel=kernel, threads=2))
    worker.start()
    assert begun.wait(60)
    model = hinge.train(X, y, threads=2)  # while the other one is in the library
    go_on.set()
    worker.join()
    assert model.report["outcome"] == "converged"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_after_a_training():
    X, y = rings(600)
    expected = hinge.train(X, y, threads=2).to_bytes()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if hinge.train(X, y, threads=2).to_bytes() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_after_import():
    script = """
import os, signal, numpy as np, hinge
X = np.random.default_rng(0).normal(size=(600, 3))
y = np.sign(X[:, 0] * X[:, 1])
child = os.fork()
signal.alarm(60)
text = hinge.train(X, y, threads=2).to_bytes()  # in both
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0 and hinge.train(X, y, threads=1).to_bytes() == text
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_threads_change_nothing():
    X, y = rings(600)
    assert hinge.train(X, y, threads=1).to_bytes() == hinge.train(X, y, threads=2).to_bytes()


def test_info():
    info = hinge.info()
    assert info["threads"] >= 1 and info["total_memory"] > 0 and info["version"] == hinge.__version__


def test_docstrings_and_page():
    for module in (hinge._model, hinge._select):
        tested = doctest.testmod(module)
        assert tested.failed == 0 < tested.attempted
    for name in hinge.__all__:
        public = getattr(hinge, name)
        parts = {name: public, **(vars(public) if inspect.isclass(public) else {})}
        assert not [part for part, value in parts.items() if part[0] != "_" and not value.__doc__], name
    assert page.failures("# Estimators", before=True) == 0
    assert page.failures("# How it is computed", before=True, name="explain.md") == 0


# ---- explanations ---------------------------------------------------------------------------------------------------

def test_shares_sum_to_decision_values():
    rng = np.random.default_rng(5300001)
    X = rng.normal(size=(120, 5))
    for kernel in ("rbf", "laplacian", "linear", "poly"):
        for y, task in ((X[:, 0] * X[:, 1], "epsilon_svr"), (np.digitize(X[:, 0], [-0.5, 0.5]), "c_svc")):
            model = hinge.train(X, y, task=task, kernel=kernel, gamma=0.3)
            f = model.decision_function(X, precision="f64")
            for background, base in ((X[:30], f[:30].mean(axis=0)), (None, None)):
                values, found = model.explain(X, background)
                assert values.shape == (120, f.shape[1], 5)
                np.testing.assert_allclose(values.sum(axis=2) + found, f, atol=1e-9)
                if base is not None:
                    np.testing.assert_allclose(found, base, atol=1e-9)
                shap = model.shap_values(X, background)
                np.testing.assert_array_equal(shap if task == "epsilon_svr" else shap[:, :, 1],
                                              values[:, 0 if task == "epsilon_svr" else 1])


def test_gradients():
    rng = np.random.default_rng(5300002)
    X = rng.normal(size=(80, 3))
    model = hinge.train(X, np.sin(X[:, 0]), task="epsilon_svr", gamma=0.5, C=10, scaling=(-1, 1))
    step = 1e-5 * np.eye(3)
    for c in range(3):
        slope = (model.decision_function(X + step[c], precision="f64") -
                 model.decision_function(X - step[c], precision="f64")) / 2e-5
        np.testing.assert_allclose(model.gradients(X)[:, :, c], slope, atol=1e-5)


def test_explain_refuses():
    X = np.eye(4)
    model = hinge.train(X, X[:, 0], task="epsilon_svr", kernel="matern32")
    with pytest.raises(hinge.InvalidArgument, match="matern32 is no product"):
        model.explain(X)
    with pytest.raises(hinge.InvalidArgument, match="background.cols"):
        hinge.train(X, X[:, 0], task="epsilon_svr").shap_values(X, X[:, :2])
