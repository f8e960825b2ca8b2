"""Dense kernel support vector machines, trained exactly at the speed of BLAS.

Arrays in, arrays out: :func:`train` gives a :class:`Model`. ``hinge.sklearn`` has estimators for scikit-learn.
"""
from ._library import (CallbackError, Error, FileError, FormatError, InternalError, InvalidArgument, NoMemory,
                       SizeError)
from ._model import Model, cross_validate, dump_libsvm, info, load_libsvm, path, train
from ._select import Selection, grid_search, log2_range

__version__: str = info()["version"]
__all__ = ["CallbackError", "Error", "FileError", "FormatError", "InternalError", "InvalidArgument", "Model",
           "NoMemory", "Selection", "SizeError", "cross_validate", "dump_libsvm", "grid_search", "info", "load_libsvm",
           "log2_range", "path", "train"]
for _error in (CallbackError, Error, FileError, FormatError, InternalError, InvalidArgument, NoMemory, SizeError):
    _error.__module__ = __name__  # as they are known
del _error
