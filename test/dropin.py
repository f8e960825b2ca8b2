"""LIBSVM's Python interface, Debian's or PyPI's, as its users write it.

usage: dropin.py MODULE_OF_SVMUTIL DATA. Ends with 0 where everything works and the library behind it is
hinge; 77 without the module."""
import importlib
import multiprocessing
import sys

try:
    svmutil = importlib.import_module(sys.argv[1])
except ImportError as problem:
    print(problem)
    sys.exit(77)
svm = importlib.import_module(sys.argv[1].replace("svmutil", "svm"))
library = svm.libsvm

y, x = svmutil.svm_read_problem(sys.argv[2])
model = svmutil.svm_train(y, x, "-c 4 -g 0.1 -q")
assert library.hinge_svm_train_count() == 1, library.hinge_svm_train_count()
labels, (accuracy, _, _), values = svmutil.svm_predict(y, x, model, "-q")
assert accuracy > 95, accuracy
assert len(values) == len(y) and all((v[0] > 0) == (l == model.get_labels()[0]) for v, l in zip(values, labels))
assert sum(model.nSV[:2]) == model.get_nr_sv() == len(model.get_SV()) == len(model.get_sv_indices())
row = x[model.get_sv_indices()[0] - 1]
assert all(row.get(k, 0) == v for k, v in model.get_SV()[0].items())

svmutil.svm_save_model("python.model", model)
again = svmutil.svm_load_model("python.model")
assert svmutil.svm_predict(y, x, again, "-q")[2] == values

assert svmutil.svm_train(y, x, "-v 5 -q") > 90
calibrated = svmutil.svm_train(y, x, "-b 1 -q")
_, _, estimates = svmutil.svm_predict(y, x, calibrated, "-b 1 -q")
assert all(abs(sum(e) - 1) < 1e-9 for e in estimates)
sigma = svmutil.svm_train(y, x, "-s 3 -b 1 -q").get_svr_probability()
assert 0 < sigma < 1, sigma

rows = 40
gram = [[i + 1] + [sum(v * b.get(k, 0) for k, v in a.items()) for b in x[:rows]]
        for i, a in enumerate(x[:rows])]
problem = svm.svm_problem(y[:rows], gram, isKernel=True)
kernel = svmutil.svm_train(problem, svm.svm_parameter("-t 4 -q"))
assert svmutil.svm_predict(y[:rows], gram, kernel, "-q")[1][0] > 90

for options, words in (("-c 0", "C <= 0"), ("-s 1 -n 0.99", "specified nu is infeasible")):
    try:
        svmutil.svm_train(y, x, options + " -q")
        sys.exit("accepted: " + options)
    except ValueError as problem:
        assert words in str(problem), problem
assert library.hinge_svm_train_count() == 5, library.hinge_svm_train_count()
print("hinge trained", library.hinge_svm_train_count(), "times")


def accuracy_at(cost):
    trained = svmutil.svm_train(y[:100], x[:100], "-q -c %d" % cost)
    return svmutil.svm_predict(y[:100], x[:100], trained, "-q")[1][0]


with multiprocessing.get_context("fork").Pool(2) as pool: # children of a process that has trained
    results = pool.map_async(accuracy_at, [1, 2, 4, 8]).get(timeout=100)
assert results == [accuracy_at(cost) for cost in (1, 2, 4, 8)], results
