"""declare.py OUTPUT SOURCE COMPILER...: writes the C source of hinge._core.

What Python sees of the library is its public headers themselves, through the preprocessor; core.h adds the callbacks.
Numbers that the headers #define are taken over too.
"""
import os
import re
import subprocess
import sys
import tempfile

import cffi

HEADERS = ("hinge/hinge.h", "hinge/io.h", "hinge/scaling.h", "hinge/select.h", "hinge/theory.h", "hinge/qp.h",
           "hinge/explain.h")


def preprocessed(compiler, include):
    """The declarations of the headers, without those of the standard headers, whose types cffi knows."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h"):
            open(os.path.join(empty, name), "w").close()
        command = [*compiler, "-E", "-P", "-U__GNUC__", "-U__clang__", "-nostdinc", "-I", empty, "-I", include,
                   "-x", "c", "-"]
        text = "".join(f"#include <{name}>\n" for name in HEADERS)
        return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def constants(include):
    """Declarations of the numbers that the headers define."""
    for name in HEADERS:
        with open(os.path.join(include, name), encoding="utf-8") as file:
            for key, value in re.findall(r"^#define (HINGE_\w+) (\(?-?[\d.]+\)?)(?:\s|$)", file.read(), re.M):
                yield f"static const double {key};" if "." in value else f"#define {key} ..."


def main(output, source, *compiler):
    include = os.path.join(source, "include")
    with open(os.path.join(source, "python/core.h"), encoding="utf-8") as file:
        core = file.read()
    shared, ours = core.split("/* ---- not for Python", 1)
    ffi = cffi.FFI()
    ffi.cdef(preprocessed(compiler, include) + "\n".join(constants(include)) + re.sub(r"(?m)^#.*$", "", shared) +
             'extern "Python" int hinge_py_called(void *, const hinge_progress *);'
             'extern "Python" int hinge_py_point(void *, const hinge_select_progress *);'
             'extern "Python" int hinge_py_kinds(void *, size_t, const hinge_kinds *, const hinge_point *);'
             'extern "Python" int hinge_py_kernel(void *, const hinge_matrix *, const hinge_matrix *, double *, '
             'size_t);')
    ffi.set_source("hinge._core", "".join(f"#include <{name}>\n" for name in HEADERS) + shared +
                   "/* ---- not for Python" + ours)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
