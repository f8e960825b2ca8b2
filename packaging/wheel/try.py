"""A wheel that was installed trains, by two threads at once too, its certificate is right, and the OpenMP that runs is
its own. A free-threaded Python stays so."""
import concurrent.futures
import sys
import sysconfig

import numpy

import hinge

rng = numpy.random.default_rng(0)
X = rng.normal(size=(2000, 20))
y = numpy.sign((X ** 2).sum(axis=1) - 19.5)
model = hinge.train(X, y, C=1.0, gamma=0.05)
assert model.report["outcome"] == "converged", model.report
assert (model.predict(X) == y).mean() > 0.9
assert model.certificate(X, y)["kkt"] < 0.002
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    trained = pool.map(lambda _: hinge.train(X, y, C=1.0, gamma=0.05, threads=1).to_bytes(), range(4))
    assert len(set(trained)) == 1
assert not sysconfig.get_config_var("Py_GIL_DISABLED") or not sys._is_gil_enabled()
machine = hinge.info()
if sys.platform == "linux":
    assert machine["blas_is_openmp"], machine
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = maps.read()
    assert "hinge.libs/libgomp" in files, files
    assert "libgfortran" not in files.replace("numpy.libs/libgfortran", ""), files
print("trains:", sys.version.split()[0], machine)
