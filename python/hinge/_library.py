"""The C library as Python sees it: arrays, parameters, callbacks, errors. Nothing here is public but what
``hinge`` re-exports."""
from __future__ import annotations

import os
import signal
import threading
from typing import Any, Callable, Iterable, Mapping

import numpy as np


def _missed_avx512() -> bool:
    """Whether OpenBLAS, left alone, may choose kernels that are slow here: old ones do not know newer processors."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return False
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= set(flags)


# OpenBLAS chooses its kernels when it is loaded, by a variable that stands here as long as that takes. The hinge
# command does likewise.
_choose = "OPENBLAS_CORETYPE" not in os.environ and _missed_avx512()
if _choose:
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"
try:
    from ._core import ffi, lib
finally:
    if _choose:
        del os.environ["OPENBLAS_CORETYPE"]

Progress = Callable[[dict[str, Any]], object]


# ---- errors ---------------------------------------------------------------------------------------------------------

class Error(Exception):
    """A call that the library did not carry out; the text is the library's own.

    Attributes
    ----------
    line : int
        Line of the file that is meant, from 1; 0 where none is.
    """

    line: int = 0


class InvalidArgument(Error, ValueError):
    """An argument is out of its range, or does not fit another one."""


class NoMemory(Error, MemoryError):
    """There is no memory."""


class FileError(Error, OSError):
    """The system refused to open, read or write a file."""


class FormatError(Error, ValueError):
    """A text or file is not what it should be; the text names the line."""


class SizeError(Error, OverflowError):
    """A size is more than this machine or BLAS can address."""


class CallbackError(Error, RuntimeError):
    """A kernel of the caller's own, or a callback, ended what has no half results."""


class InternalError(Error, RuntimeError):
    """A defect of hinge: please report it."""


_ERRORS = {lib.HINGE_EINVAL: InvalidArgument, lib.HINGE_ENOMEM: NoMemory, lib.HINGE_EIO: FileError,
           lib.HINGE_EFORMAT: FormatError, lib.HINGE_ESIZE: SizeError, lib.HINGE_ECALLBACK: CallbackError}


def text(chars: Any) -> str:
    return str(ffi.string(chars), "utf-8", "replace")


def call(function: Any, *arguments: Any) -> None:
    """Calls a function that returns a status, and raises what it says."""
    global _called
    _called = True
    err = ffi.new("hinge_error *")
    status = function(*arguments, err)
    if status != lib.HINGE_OK:
        error = _ERRORS.get(status, InternalError)(text(err.text) or text(lib.hinge_status_text(status)))
        error.line = err.line
        raise error


# ---- arrays ---------------------------------------------------------------------------------------------------------

FLOATS: dict[Any, int] = {np.dtype(np.float32): lib.HINGE_F32, np.dtype(np.float64): lib.HINGE_F64}
TYPES: dict[Any, int] = {**FLOATS, np.dtype(np.uint8): lib.HINGE_U8, np.dtype(np.bool_): lib.HINGE_U8,
                         np.dtype(np.int8): lib.HINGE_I8, np.dtype(np.float16): lib.HINGE_F16}


def host(values: Any, name: str) -> Any:
    """values as NumPy takes them: arrays of other libraries by their protocols, DLPack among them, without a copy where
    they lie in this machine's memory."""
    if hasattr(values, "__array_interface__"):
        return np.asarray(values)
    if not hasattr(values, "__dlpack__"):
        return values
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if hasattr(values, "__array__"):
            return values
        raise InvalidArgument(f"{name}: {type(values).__name__} by DLPack: {error}") from None


class Matrix:
    """A hinge_matrix that borrows a NumPy array: rows or columns of float16, float32, float64, uint8, int8 or bool that
    lie at even distances are taken as they are, also part of a larger array; others are converted once."""

    __slots__ = ("array", "view")

    def __init__(self, X: Any, name: str = "X"):
        if hasattr(X, "tocsr"):
            raise TypeError(f"{name} is sparse: hinge takes dense arrays; use {name}.toarray()")
        try:
            array = np.asarray(host(X, name))
        except ValueError as error:
            raise InvalidArgument(f"{name}: {error}") from None
        if array.dtype.kind == "c":
            raise InvalidArgument(f"{name} is complex")
        if array.ndim != 2:
            raise InvalidArgument(f"{name} has {array.ndim} dimensions, not the 2 of rows and features")
        kind = TYPES.get(array.dtype)
        stride = None if kind is None else self._stride(array)
        if stride is None:
            array = array_of(array, np.float64 if kind is None else array.dtype, name)
            kind, stride = TYPES[array.dtype], (max(array.shape[1], 1), lib.HINGE_ROW_MAJOR)
        self.array = array
        self.view = ffi.new("hinge_matrix *")
        view = self.view[0]
        view.data = ffi.cast("void *", array.__array_interface__["data"][0])
        view.type = kind
        view.rows, view.cols = array.shape
        view.stride, view.order = stride

    @staticmethod
    def _stride(array: np.ndarray) -> tuple[int, int] | None:
        size, (rows, cols), (down, right) = array.itemsize, array.shape, array.strides
        if not array.flags.aligned:
            return None
        if (right == size or cols <= 1) and (rows <= 1 or (down % size == 0 and down >= cols * size)):
            return (down // size if rows > 1 else max(cols, 1)), lib.HINGE_ROW_MAJOR
        if (down == size or rows <= 1) and right % size == 0 and right >= rows * size:
            return right // size, lib.HINGE_COLUMN_MAJOR
        return None


def vector(values: Any, n: int, name: str) -> np.ndarray:
    """values as n doubles without gaps; converted only where they are not."""
    return array_of(values, np.float64, name, n)


def array_of(values: Any, kind: Any, name: str, n: int | None = None) -> np.ndarray:
    """values as an array of one type without gaps; n: of so many."""
    try:
        array = np.ascontiguousarray(host(values, name), dtype=kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"{name}: {error}") from None
    if n is not None and array.shape != (n,):
        raise InvalidArgument(f"{name} has shape {array.shape}, not ({n},)")
    return array


def variance_of(X: np.ndarray, weights: np.ndarray | None) -> float:
    """The variance of all values of X, rows weighted, without a copy of X; equal weights are as good as none."""
    blocks = [slice(i, i + 4096) for i in range(0, len(X), 4096)]
    w = np.ones(len(X)) if weights is None else weights / weights.max()
    total = float(w.sum()) * X.shape[1]
    mean = sum(w[b] @ X[b].sum(axis=1, dtype=np.float64) for b in blocks) / total
    return float(sum(w[b] @ np.square(X[b] - mean, dtype=np.float64).sum(axis=1) for b in blocks)) / total


def assign(struct: Any, field: str, value: Any, name: str | None = None) -> None:
    """Sets a number of a structure's; name: what the caller knows it by."""
    try:
        setattr(struct, field, value)
    except TypeError:
        kind = "number" if dict(ffi.typeof(struct).item.fields)[field].type.cname == "double" else "whole number"
        raise InvalidArgument(f"{name or field}: {value!r} is not a {kind}") from None
    except OverflowError:
        raise InvalidArgument(f"{name or field}: {value!r} is out of range") from None


def doubles(array: np.ndarray | None) -> Any:
    return ffi.NULL if array is None else ffi.from_buffer("double[]", array)


class _Memory:
    """What NumPy reads a view from; keeps its owner alive."""

    def __init__(self, pointer: Any, shape: tuple[int, ...], kind: str, owner: Any, writable: bool):
        self.owner = owner
        self.__array_interface__ = {"data": (int(ffi.cast("intptr_t", pointer)), not writable), "shape": shape,
                                    "typestr": kind, "version": 3}


def view(pointer: Any, shape: tuple[int, ...], owner: Any, kind: str = "=f8", writable: bool = False) -> np.ndarray:
    """An array of the library's own memory."""
    if 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(_Memory(pointer, shape, np.dtype(kind).str, owner, writable))


# ---- labels ---------------------------------------------------------------------------------------------------------

def _texts(y: Any) -> np.ndarray | None:
    """y as an array of texts, if that is what it holds."""
    array = np.asarray(host(y, "y"))
    if array.dtype.kind == "U":
        return array
    values = array.ravel().tolist() if array.dtype.kind in "OST" else []
    others = [value for value in values if not isinstance(value, (str, bytes))]
    if len(others) == len(values):
        return None
    if others:
        raise InvalidArgument(f"y holds texts and {others[0]!r}: labels are all texts or all numbers")
    return np.array([v.decode() if isinstance(v, bytes) else v for v in values]).reshape(array.shape)


class Words:
    """Class labels that are texts. The library knows them by the numbers from 1 on, in the order of ``words``."""

    def __init__(self, words: Iterable[str]):
        self.words = np.array(list(words))
        self.number = {word: float(k) for k, word in enumerate(self.words.tolist(), 1)}
        for word in self.number:
            if not word or any(c < " " or c == "\x7f" for c in word):
                raise InvalidArgument(f"y: {word!r} is no label: it is empty or holds control characters")

    @classmethod
    def held(cls, struct: Any) -> Words | None:
        """Those of a hinge_words, or of what points at one; None: labels are numbers."""
        words = [] if struct == ffi.NULL else [ffi.string(struct.word[k]) for k in range(struct.count)]
        return cls(word.decode("utf-8", "surrogateescape") for word in words) if words else None

    def give(self, model: Any) -> None:
        texts = [ffi.new("char[]", word.encode("utf-8", "surrogateescape")) for word in self.number]
        array = ffi.new("const char *[]", texts)
        call(lib.hinge_model_set_words, model, ffi.new("hinge_words *", {"count": len(texts), "word": array}))

    def number_of(self, word: Any, name: str) -> float:
        if word not in self.number:
            raise InvalidArgument(f"{name}: {word!r} is none of the labels {', '.join(map(repr, self.number))}")
        return self.number[word]

    def numbers_of(self, y: Any, n: int) -> np.ndarray:
        texts = _texts(y)
        words, inverse = np.unique(np.asarray(y) if texts is None else texts, return_inverse=True)
        numbers = np.array([self.number_of(word, "y") for word in words.tolist()])
        return vector(numbers.take(inverse), n, "y")

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """The words of numbers; "" where there is none (NaN)."""
        missing = np.isnan(numbers)
        words = self.words.take(np.where(missing, 1, numbers).astype(np.intp) - 1)
        words[missing] = ""
        return words


class Labels:
    """y of a training: as numbers, and the words, if any, that these stand for; in the order in which the words come,
    as in files."""

    def __init__(self, y: Any, n: int, task: str):
        self.numbers: np.ndarray | None = None
        self.words: Words | None = None
        if y is None:
            return
        texts = _texts(y)
        classifies = lib.hinge_task_info(number_of("hinge_task", task)).classifies
        if texts is not None:
            if not classifies:
                raise InvalidArgument(f"y holds words, where {task} takes numbers")
            words, first = np.unique(texts, return_index=True)
            self.words = Words(words[np.argsort(first)].tolist())
            self.numbers = self.words.numbers_of(texts, n)
        else:
            self.numbers = vector(y, n, "y")
            given = np.asarray(host(y, "y"))
            if classifies and given.dtype.kind in "iu" and (self.numbers.astype(given.dtype) != given).any():
                raise InvalidArgument("y holds labels beyond 2^53, which float64 cannot tell apart: give texts")

    def give(self, model: Any) -> None:
        """Tells a hinge_model what its labels stand for."""
        if self.words is not None:
            self.words.give(model)

    def translate(self, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters of a training that are or hold labels, as numbers."""
        if not isinstance(params.get("class_weight") or {}, Mapping):
            raise InvalidArgument(f"class_weight: {params['class_weight']!r} is no dict of weights by label")
        if self.words is None:
            return params
        params = dict(params)
        if params.get("class_weight"):
            params["class_weight"] = {self.words.number_of(word, "class_weight"): weight
                                      for word, weight in params["class_weight"].items()}
        if params.get("positive_class") is not None:
            params["positive_class"] = self.words.number_of(params["positive_class"], "positive_class")
        return params


# ---- words and structures -------------------------------------------------------------------------------------------

def _words(kind: str) -> dict[str, int]:
    """What an enumeration's values are called: HINGE_PRECISION_F64 is "f64"."""
    names = {name: value for value, name in sorted(ffi.typeof(kind).elements.items()) if name[:8] != "HINGE_N_"}
    own = kind.upper() + "_"
    while not any(name.startswith(own) for name in names):
        own = own[:own[:-1].rindex("_") + 1]
    return {(name[len(own):] if name.startswith(own) else name[len("HINGE_"):]).lower(): value
            for name, value in names.items()}


WORDS = {kind: _words(kind) for kind in ("hinge_task", "hinge_kernel_type", "hinge_solver", "hinge_precision",
                                         "hinge_maker", "hinge_multiclass", "hinge_outcome", "hinge_score",
                                         "hinge_drop", "hinge_ties", "hinge_point_state", "hinge_loss",
                                         "hinge_sv_kind", "hinge_slack_class", "hinge_tradeoff", "hinge_qp_outcome")}
WORDS["hinge_kernel_type"]["poly"] = lib.HINGE_POLYNOMIAL  # as scikit-learn has it


def number_of(kind: str, word: Any) -> int:
    try:
        return WORDS[kind][word]
    except (KeyError, TypeError):
        name = kind.removeprefix("hinge_").removesuffix("_type")
        raise InvalidArgument(f"{name}: {word!r} is none of {', '.join(map(repr, WORDS[kind]))}") from None


def is_expression(kernel: Any) -> bool:
    """Whether it is a kernel with its parameters, or a sum or product of some, as hinge_kernel_parse reads them."""
    return isinstance(kernel, str) and any(c in kernel for c in "(+*")


def uses_gamma(kernel: Any) -> bool:
    return not callable(kernel) and not is_expression(kernel) and bool(lib.hinge_kernel_info(number_of("hinge_kernel_type", kernel)).uses_gamma)


def word_of(kind: str, number: int) -> str:
    return next(word for word, value in WORDS[kind].items() if value == number)


def as_dict(struct: Any) -> dict[str, Any]:
    """The fields of a structure, or of what points at one, that are numbers, words or texts."""
    fields: dict[str, Any] = {}
    kind = ffi.typeof(struct)
    for name, field in (kind.item if kind.kind == "pointer" else kind).fields:
        kind, value = field.type, getattr(struct, name)
        if kind.kind == "enum":
            value = word_of(kind.cname.removeprefix("enum "), value)
        elif kind.kind == "struct":
            value = as_dict(value)
        elif kind.kind == "array" and kind.item.cname == "char":
            value = text(value)
        elif kind.kind != "primitive":
            continue
        fields[name] = value
    return fields


# ---- threads --------------------------------------------------------------------------------------------------------

_called = _forked = False  # whether a call was made; and that in the process that this one was forked from


def _in_child() -> None:
    # The threads of the OpenMP run-time stayed in the parent: a region of several would wait for them forever.
    global _forked
    if _called:
        _forked = True
        lib.hinge_py_alone()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def threads_of(threads: int | None) -> int:
    return 1 if _forked else threads or 0


# ---- callbacks ------------------------------------------------------------------------------------------------------

class Callbacks:
    """Python code that the library calls by a handle. What it raises ends the library's call, and is kept."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.handle = ffi.new_handle(self)

    def run(self, function: Callable[..., Any], *arguments: Any) -> int:
        """1 where the function gives what is true, or raises."""
        try:
            return 1 if function(*arguments) else 0
        except BaseException as error:
            self.error = self.error or error
            return 1


class Watch(Callbacks):
    """What goes on while the library works: the caller's callbacks, Ctrl-C, and exceptions that Python code raised in
    between. Use as ``with Watch(progress) as watch: call(...)``."""

    def __init__(self, progress: Progress | None = None, problems: int = 0, point: Progress | None = None):
        super().__init__()
        if progress is not None and not callable(progress):
            raise InvalidArgument(f"progress: {progress!r} is not callable")
        self.progress, self.point = progress, point
        self.interrupted = False
        self.iterations = np.zeros(problems, np.uint64)
        self.struct = ffi.new("hinge_py_watch *")
        self.struct.callback = self.handle if progress is not None else ffi.NULL
        self.struct.iterations = ffi.from_buffer("uint64_t[]", self.iterations)
        self.struct.n_iterations = problems

    def attach(self, struct: Any) -> None:
        """Makes this the progress callback of parameters or options."""
        struct.progress = ffi.addressof(lib, "hinge_py_progress")
        struct.progress_arg = self.struct

    def __enter__(self) -> Watch:
        handler = signal.getsignal(signal.SIGINT)
        self.struct.looks = threading.current_thread() is threading.main_thread() and callable(handler)
        if self.struct.looks:
            lib.hinge_py_look()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.struct.looks:
            self.interrupted = bool(lib.hinge_py_done())
            if self.interrupted and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
                signal.raise_signal(signal.SIGINT)  # a handler of the program's own has its say
        if self.error is not None:
            raise self.error


@ffi.def_extern(error=1)
def hinge_py_called(handle: Any, progress: Any) -> int:
    watch = ffi.from_handle(handle)
    return watch.run(lambda: watch.progress(as_dict(progress)))


class Kernel(Callbacks):
    """A kernel of the caller's own: function(A, B) of float64 arrays [a, d] and [b, d] returns [a, b]."""

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], Any]):
        super().__init__()
        self.function = function
        name = "".join(c if c.isalnum() and c.isascii() else "-" for c in getattr(function, "__name__", "kernel"))
        self.kernel = lib.hinge_kernel_user(name[:31].encode(), lib.hinge_py_kernel, self.handle)

    def call(self, function: Any, *arguments: Any) -> None:
        """hinge's call, but what the function raised is raised."""
        try:
            call(function, *arguments)
        except CallbackError:
            error, self.error = self.error, None
            if error is not None:
                raise error from None
            raise

    def fill(self, a: Any, b: Any, out: Any, ld: int) -> None:
        rows, cols = a.rows, b.rows
        value = np.asarray(self.function(*(_block(m, self.handle) for m in (a, b))))
        if value.shape != (rows, cols):
            raise InvalidArgument(f"kernel: the function gave shape {value.shape} for ({rows}, {cols}) values")
        target = np.frombuffer(ffi.buffer(out, ((rows - 1) * ld + cols) * 8 if rows else 0), np.float64)
        np.lib.stride_tricks.as_strided(target, (rows, cols), (ld * 8, 8), writeable=True)[...] = value


@ffi.def_extern(error=1)
def hinge_py_kernel(handle: Any, a: Any, b: Any, out: Any, ld: int) -> int:
    kernel = ffi.from_handle(handle)
    return kernel.run(kernel.fill, a, b, out, ld)


def _block(m: Any, owner: Any) -> np.ndarray:
    """A HINGE_F64 view of the library's as an array, gone when the callback returns."""
    rows, cols, stride = m.rows, m.cols, m.stride
    if rows == 0 or cols == 0:
        return np.zeros((rows, cols))
    flat = view(m.data, ((rows - 1) * stride + cols,), owner)
    return np.lib.stride_tricks.as_strided(flat, (rows, cols), (stride * 8, 8), writeable=False)


# ---- parameters -----------------------------------------------------------------------------------------------------

class Params:
    """hinge_params and the arrays they point at."""

    def __init__(self, n: int, **arguments: Any):
        self.arguments = n, {name: value for name, value in arguments.items() if name != "beta0"}  # for certificates
        self._fill(n, **arguments)

    def _fill(self, n: int, task: str = "c_svc", kernel: Any = "rbf", *, gamma: float | None = None,
              coef0: float = 0.0, degree: int = 3, sample_weight: Any = None,
              class_weight: Mapping[float, float] | None = None, scaling: tuple[float, float] | None = None,
              positive_class: float | None = None, beta0: Any = None, precomputed_index: Any = None,
              threads: int | None = 0, **fields: Any) -> None:
        self.struct = lib.hinge_params_default(number_of("hinge_task", task))
        self.kept: list[Any] = []
        self.beta0: np.ndarray | None = None
        self.user = Kernel(kernel) if callable(kernel) else None
        s = self.struct
        if self.user is not None:
            s.kernel = self.user.kernel
        elif not is_expression(kernel):
            s.kernel.type = number_of("hinge_kernel_type", kernel)
        kernel_struct = ffi.addressof(s, "kernel")
        assign(kernel_struct, "degree", degree)
        assign(kernel_struct, "coef0", coef0)
        assign(kernel_struct, "gamma", lib.HINGE_GAMMA_AUTO if gamma is None else gamma)
        if gamma is not None and s.kernel.gamma < 0:  # the library's word for None among them
            raise InvalidArgument(f"gamma: {gamma!r} is not a number >= 0")
        if is_expression(kernel):
            if gamma is not None or degree != 3 or coef0 != 0:
                raise InvalidArgument(f"gamma, degree, coef0: those of kernel={kernel!r} stand in it, as in "
                                      "'rbf(1-3,gamma=0.5)+linear'")
            parts = ffi.new("hinge_kernel_part **")
            call(lib.hinge_kernel_parse, kernel.encode(), kernel_struct, parts)
            self.keep(ffi.gc(parts[0], lib.hinge_free))
        assign(ffi.addressof(s), "threads", threads_of(threads))
        self._arrays(n, sample_weight, class_weight, positive_class, beta0, precomputed_index)
        if scaling is not None:
            low, high = array_of(scaling, np.float64, "scaling", 2)
            s.scaling = self.keep(ffi.new("hinge_scaling *", {"lower": low, "upper": high}))
        for name, value in fields.items():
            self._set(name, value)

    def _arrays(self, n: int, sample_weight: Any, class_weight: Mapping[float, float] | None,
                positive_class: float | None, beta0: Any, precomputed_index: Any) -> None:
        s = self.struct
        if sample_weight is not None:  # a copy: certificates need what the training had
            self.arguments[1]["sample_weight"] = self.keep(np.array(vector(sample_weight, n, "sample_weight")))
            s.weights = doubles(self.kept[-1])
        if class_weight:
            s.n_class_weights = len(class_weight)
            s.class_labels = doubles(self.keep(array_of(list(class_weight.keys()), np.float64, "class_weight")))
            s.class_weights = doubles(self.keep(array_of(list(class_weight.values()), np.float64, "class_weight")))
        if positive_class is not None:
            s.positive_class = doubles(self.keep(array_of([positive_class], np.float64, "positive_class", 1)))
        if beta0 is not None:
            self.beta0 = array_of(beta0, np.float64, "beta0")
            s.beta0 = doubles(self.beta0)
        if precomputed_index is not None:
            index = self.keep(array_of(precomputed_index, np.uintp, "precomputed_index", n))
            s.precomputed_index = ffi.from_buffer("size_t[]", index)

    def problems(self, y: np.ndarray | None) -> int:
        """Two-class problems of a training."""
        s = self.struct
        classes = len(set(y.tolist())) if y is not None and lib.hinge_task_info(s.task).classifies else 2
        return classes if s.multiclass == lib.HINGE_ONE_VS_REST and classes > 2 else classes * (classes - 1) // 2

    def check_beta0(self, y: np.ndarray | None) -> None:
        """The library reads as much of it as the labels say."""
        wanted = (self.problems(y), self.arguments[0])
        if self.beta0 is not None and self.beta0.size != wanted[0] * wanted[1]:
            raise InvalidArgument(f"beta0 has shape {self.beta0.shape}, not {wanted}")

    def keep(self, thing: Any) -> Any:
        self.kept.append(thing)
        return thing

    def _set(self, name: str, value: Any) -> None:
        field = dict(ffi.typeof("hinge_params").fields).get(name)
        if field is None or field.type.kind not in ("primitive", "enum"):
            raise TypeError(f"{name!r} is no parameter of a training")
        if field.type.kind == "enum":
            value = number_of(field.type.cname.removeprefix("enum "), value)
        assign(ffi.addressof(self.struct), name, value)
        if name in ("C", "nu", "tau", "eps") and value == 0:  # the library's word for its default
            raise InvalidArgument(f"{name}: 0 is not a number > 0")

    def call(self, function: Any, *arguments: Any) -> None:
        (self.user.call if self.user is not None else call)(function, *arguments)
