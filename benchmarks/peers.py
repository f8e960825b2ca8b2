"""One training and prediction by a peer that comes as a Python package. Run by benchmarks/compare in its own virtual
environment, as the C contestants are (benchmarks/job.h tells of the job, the files and what is printed):

    peers.py NAME about           {"version": ..., "blas": ...}
    peers.py NAME KEY=VALUE...
"""
import ctypes
import gc
import importlib.metadata
import json
import logging
import resource
import signal
import sys
import time

import numpy as np

TASKS = ["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"]  # by hinge's and LIBSVM's number
ONEDAL_ITERATIONS = 10000  # its limit where the caller sets none


def say(**what):
    print(json.dumps(what), flush=True)


class Scikit:
    """scikit-learn's own: its copy of LIBSVM on dense rows."""
    package, dtype = "scikit-learn", np.float64

    def __init__(self, job):
        from sklearn import svm
        self.make(svm, job)

    def make(self, svm, job):
        used = {"C": job.C, "nu": job.p, "epsilon": job.p}
        names = [["C"], ["nu"], ["nu"], ["C", "epsilon"], ["C", "nu"]][job.task]
        self.estimator = getattr(svm, TASKS[job.task])(
            kernel="rbf", gamma=job.gamma, tol=job.eps, cache_size=job.cache_mb, **{name: used[name] for name in names})

    def fit(self, x, y):
        self.estimator.fit(x, y)

    def predict(self, x):
        return self.estimator.predict(x)

    def model(self):
        return self.estimator.support_, self.estimator.dual_coef_

    def verify(self):
        pass


class Hinge(Scikit):
    """hinge.sklearn, of the build folder."""
    package = "hinge"

    def __init__(self, job):
        from hinge import sklearn
        self.make(sklearn, job)
        self.estimator.set_params(threads=job.threads)


class Intelex(Scikit):
    """scikit-learn-intelex: the same classes run by oneDAL; each call must say so in the log, or the run does not
    count."""
    package = "scikit-learn-intelex"

    def __init__(self, job):
        self.calls = []
        handler = logging.Handler()
        handler.emit = lambda record: self.calls.append(record.getMessage())
        from sklearnex import svm
        logger = logging.getLogger("sklearnex")
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        self.make(svm, job)

    def verify(self):
        for method in ("fit", "predict"):
            said = [call for call in self.calls if f".{method}:" in call]
            if not said or not all("running accelerated version" in call for call in said):
                raise RuntimeError(f"oneDAL did not run {method}: {said or self.calls}")
        if not hasattr(self.estimator, "_onedal_estimator"):
            raise RuntimeError("oneDAL did not run: the estimator holds no model of it")
        if self.dtype != self.estimator.dual_coef_.dtype:
            raise RuntimeError(f"oneDAL ran in {self.estimator.dual_coef_.dtype}")
        if np.max(self.estimator.n_iter_) >= ONEDAL_ITERATIONS:
            say(outcome=f"stopped at oneDAL's limit of {ONEDAL_ITERATIONS} rounds")


class Intelex32(Intelex):
    dtype = np.float32


class Libsvm:
    """libsvm-official: LIBSVM's own package, built with OpenMP. Its rows are made outside the clock."""
    package, dtype = "libsvm-official", np.float64

    def __init__(self, job):
        from libsvm import svm, svmutil
        self.svm = svm
        self.train = svmutil.svm_train
        self.parameter = svm.svm_parameter(f"-q -s {job.task} -t 2 -g {job.gamma!r} -c {job.C!r} -p {job.p!r} "
                                           f"-n {job.p!r} -e {job.eps!r} -m {job.cache_mb!r}")

    def rows(self, x, y):
        from scipy.sparse import csr_matrix
        return self.svm.svm_problem(y, csr_matrix(x))

    def fit(self, problem, _):
        self.trained = self.train(problem, self.parameter)

    def predict(self, problem):
        predict, model, rows = self.svm.libsvm.svm_predict, self.trained, problem.x
        return np.array([predict(model, rows[i]) for i in range(problem.l)])

    def model(self):
        n, k = self.trained.l, self.trained.nr_class - 1
        coef = [np.ctypeslib.as_array(self.trained.sv_coef[m], (n,)) for m in range(k)]
        return np.array(self.trained.get_sv_indices()) - 1, np.array(coef)

    def verify(self):
        pass


class Thunder:
    """thundersvm-cpu: the library behind the package is called directly, as the package copies number by number."""
    package, dtype = "thundersvm-cpu", np.float32

    def __init__(self, job):
        import thundersvm
        self.lib, self.task = thundersvm.thundersvm, job.task
        nu_or_epsilon = {"nu": job.p} if job.task in (1, 2, 4) else {"epsilon": job.p} if job.task == 3 else {}
        cost = {"C": job.C} if job.task in (0, 3, 4) else {}
        self.estimator = getattr(thundersvm, TASKS[job.task])(
            kernel="rbf", gamma=job.gamma, tol=job.eps, n_jobs=job.threads, max_mem_size=int(job.cache_mb),
            **nu_or_epsilon, **cost)
        self.estimator._gamma = job.gamma

    def fit(self, x, y):
        e = self.estimator
        self.lib.model_new.restype = ctypes.c_void_p
        e.model = self.lib.model_new(self.task)
        self.lib.set_memory_size(ctypes.c_void_p(e.model), e.max_mem_size)
        e._dense_fit(x, y, self.task, 2)
        if e._train_succeed[0] == -1:
            raise RuntimeError("ThunderSVM says that the training failed")

    def predict(self, x):
        labels = np.zeros(len(x), np.float32)
        pointer = ctypes.POINTER(ctypes.c_float)
        self.lib.dense_predict(x.shape[0], x.shape[1], x.ctypes.data_as(pointer), ctypes.c_void_p(self.estimator.model),
                               labels.ctypes.data_as(pointer), 0)
        return labels

    def model(self):
        e, model = self.estimator, ctypes.c_void_p(self.estimator.model)
        n = self.lib.n_sv(model)
        ints, floats = ctypes.c_int, ctypes.c_float
        indices = (ints * n)()
        self.lib.get_sv((ints * (n + 1))(), (ints * (n * e.n_features))(), (floats * (n * e.n_features))(),
                        (ints * 1)(), indices, model)
        coef = (floats * ((e.n_classes - 1) * n))()
        self.lib.get_coef(coef, e.n_classes, n, model)
        return np.array(indices), np.array(coef).reshape(e.n_classes - 1, n)

    def verify(self):
        pass


PEERS = {"libsvm-pypi": Libsvm, "sklearn": Scikit, "intelex-f32": Intelex32, "intelex-f64": Intelex,
         "thundersvm": Thunder, "hinge-python": Hinge}


class Job:
    """Arguments KEY=VALUE as attributes."""

    def __init__(self, arguments):
        for argument in arguments:
            key, value = argument.split("=", 1)
            number = int if key in ("n", "d", "n_test", "task", "threads") else float
            setattr(self, key, value if key in ("folder", "out") else number(value))

    def load(self, part, n, dtype):
        kind = "f32" if dtype == np.float32 else "f64"
        return (np.fromfile(f"{self.folder}/x_{part}.{kind}", dtype).reshape(n, self.d),
                np.fromfile(f"{self.folder}/y_{part}.{kind}", dtype))


def status_mb(key):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key + ":"))


def measured(name, limit, function, *arguments):
    """function's result; prints what it took. The process ends by SIGALRM where it takes longer than the limit."""
    signal.setitimer(signal.ITIMER_REAL, limit)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result = function(*arguments)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    signal.setitimer(signal.ITIMER_REAL, 0)
    say(**{f"{name}_s": seconds, f"{name}_user_s": after.ru_utime - before.ru_utime,
           f"{name}_system_s": after.ru_stime - before.ru_stime, f"{name}_faults": after.ru_minflt - before.ru_minflt})
    return result


def start_up(peer, job):
    """A training and prediction of 40 made-up rows, so that what a package loads late and its threads are there."""
    draw = np.random.RandomState(1)
    contestant, x, y = peer(job), draw.randn(40, job.d).astype(peer.dtype), np.tile([-1, 1], 20).astype(peer.dtype)
    rows = contestant.rows(x, y) if hasattr(contestant, "rows") else x
    contestant.fit(rows, y)
    contestant.predict(rows)


def run(peer, job):
    start_up(peer, job)
    contestant = peer(job)
    x, y = job.load("train", job.n, peer.dtype)
    x_test, y_test = job.load("test", job.n_test, peer.dtype)
    if hasattr(contestant, "rows"):
        x, x_test = contestant.rows(x, y), contestant.rows(x_test, y_test)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak of memory starts again
    base = status_mb("VmRSS")
    measured("train", job.limit, contestant.fit, x, y)
    predicted = measured("predict", job.limit, contestant.predict, x_test)
    say(peak_mb=status_mb("VmHWM"), base_mb=base)
    contestant.verify()
    index, coef = contestant.model()
    np.concatenate([[len(index), len(coef)], np.column_stack([index, coef.T]).ravel()]).tofile(job.out + ".model")
    np.asarray(predicted, np.float64).tofile(job.out + ".predicted")


def about(peer):
    from threadpoolctl import threadpool_info
    peer(Job("task=0 C=1 gamma=1 p=0 eps=0.1 cache_mb=100 threads=1".split()))  # loads the package
    blas = sorted({f"OpenBLAS {pool['version']} {pool['architecture']}" for pool in threadpool_info()
                   if pool["internal_api"] == "openblas"})
    version = getattr(sys.modules.get(peer.package), "__version__", None) or importlib.metadata.version(peer.package)
    say(version=version, blas=", ".join(blas))


if __name__ == "__main__":
    if sys.argv[2] == "about":
        about(PEERS[sys.argv[1]])
    else:
        run(PEERS[sys.argv[1]], Job(sys.argv[2:]))
