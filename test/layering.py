#!/usr/bin/env python3
"""layering.py SOURCE libhinge.a libhinge.so: what the structure of hinge promises, checked.

  - who includes what, room by room (ROOMS below): public headers see none but themselves; lib/base and lib/rows are the
    ground; kernels and solver stand on it and do not see each other, nor do solver/smo and solver/ipm; tools, examples
    and benchmarks see public headers alone
  - the library asks one room for the system, lib/base/system.h, and the command its own, tools/system.h
  - no object of the library holds writable data, but for a thread's place in the team that serves a call; tables that
    the loader relocates (.data.rel.ro) are read-only
  - the library calls nothing that prints, ends the process or changes its settings
  - memory is had in few places, all of which test_faults makes fail; LAPACKE is called where it allocates nothing
  - the shared library exports what test/symbols.txt lists, and nothing that does not begin with hinge_
  - no line is longer than 120 columns, no locale is switched, and tests make temporary files by test/folder.h
  - doc/tour.md tells the rooms as they are
  - comments name no data set: the figures stand in doc/tried.md, which has what comments link to
  - a number that runs are judged by stands in solver/smo/rules.h alone, and no room tells progress by a clock of its own

Prints each violation, one a line; exit 1 if there is any. After a change of the API on purpose:
layering.py SOURCE libhinge.a libhinge.so --update writes test/symbols.txt anew.
"""
import os
import re
import subprocess
import sys

COLUMNS = 120
STANDARD = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
    stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype
""".split()
# of compilers, of what is linked, and of C libraries on every system that hinge is for
LIBRARIES = "cblas lapacke omp mpi lzma zlib cpuid immintrin xmmintrin emmintrin arm_neon getopt".split()
LIBRARIES += "mex R Rinternals R_ext/Rdynload".split()
FORBIDDEN = """
    exit _exit _Exit quick_exit abort __assert_fail atexit on_exit printf vprintf puts putchar perror
    __printf_chk __vprintf_chk stdout stderr signal sigaction sigprocmask raise setlocale uselocale setenv
    putenv unsetenv chdir umask rand srand random srandom strtok fesetround fesetenv feenableexcept
    openblas_set_num_threads goto_set_num_threads omp_set_dynamic omp_set_nested omp_set_max_active_levels
    aligned_alloc calloc realloc reallocarray posix_memalign memalign valloc strndup asprintf vasprintf getline open_memstream
""".split()
# where these may be called: inside a parallel region, local to the task; and the ways to get memory
PLACE_OF_THREAD = ("lib_base_team.c.o", "here")  # thread-local; empty outside of calls
SYSTEM = "lib_base_system_posix.c.o"  # the room for the system, as it is built here
ONLY_IN = {"omp_set_num_threads": "lib_base_team.c.o", "malloc": "lib_base_base.c.o",
           "free": ("lib_base_base.c.o", "lib_files_bytes.c.o"), "strdup": SYSTEM, "realpath": SYSTEM,
           "mmap": SYSTEM, "mmap64": SYSTEM}
# the rooms of the house, from the ground up, and whose headers each may include beside its own and the public ones
GROUND = ("lib/base", "lib/rows")
CORE = GROUND + ("kernels", "solver", "solver/smo", "solver/ipm")
TRAINING = CORE + ("lib/data", "lib/model")
LIB = TRAINING + ("lib/train", "lib/predict", "lib/folds")
ROOMS = {
    "lib/base": (), "lib/rows": GROUND, "kernels": GROUND, "solver": GROUND,
    "solver/smo": GROUND + ("solver",), "solver/ipm": GROUND + ("solver",),
    "lib/data": GROUND + ("kernels", "solver"), "lib/model": GROUND + ("kernels", "lib/data"),
    "lib/train": TRAINING, "lib/predict": GROUND + ("kernels", "lib/data", "lib/model"),
    "lib/folds": GROUND + ("lib/data", "lib/model", "lib/train", "lib/predict"),
    "lib/certify": TRAINING, "lib/select": LIB, "lib/files": GROUND + ("lib/data", "lib/model", "lib/folds"),
    "lib/theory": LIB, "lib/explain": GROUND + ("kernels", "lib/data", "lib/model"),
    "include": (), "mpi": LIB + ("lib/certify", "lib/select", "lib/files"),
    "compat": GROUND + ("lib/data", "lib/model", "lib/predict", "lib/folds", "lib/files"),
    "compat/octave": (), "compat/r": (), "tools": (), "examples": (), "benchmarks": (),
}

# sets of benchmarks/prepare.c whose names are words too, and count as sets by what follows
SETS_THAT_ARE_WORDS = set("delays digits embeddings letter magic ring texture uniform".split())
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)  # and text, to pass over it

problems = []


def complain(text):
    problems.append(text)
    print(text)


# ---- includes ------------------------------------------------------------------------------------------------

def sources(root):
    for folder in ("include", "lib", "kernels", "solver", "mpi", "compat", "tools", "examples", "benchmarks", "test"):
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(path, name), root)


def target_of(root, path, name):
    """An include as a path in the tree; hinge/... for public headers; the bare name for the system's."""
    if name.startswith("hinge/"):
        return name
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    for candidate in (beside, name):
        if os.path.exists(os.path.join(root, candidate)):
            return candidate
    return name


def room_of(path):
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default=None)


def allowed(path, target):
    room, seen = room_of(path), room_of(target)
    if room == "include":
        return target.startswith("hinge/") or path == "include/hinge/mpi.h" or (target.endswith(".h") and target[:-2] in STANDARD)
    return room is None or seen is None or seen == room or seen in ROOMS[room]


def check_includes(root):
    pattern = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
    count = 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = pattern.match(line)
                if match:
                    count += 1
                    if not allowed(path, target_of(root, path, match.group(1))):
                        complain(f"{path}:{number}: must not include {match.group(1)}")
                    if match.group(1) == "libsvm/svm.h" and path.split("/")[0] not in ("benchmarks", "test"):
                        complain(f"{path}:{number}: only benchmarks and tests may include libsvm")
    if count == 0:
        complain("no includes found: is this the source directory?")


def check_system(root):
    """A system's headers, and questions which one this is, stand in the rooms for the system alone."""
    rooms = re.compile(r"(lib/base|tools)/system(_posix|_windows)?\.[ch]$")
    header = re.compile(r"^\s*#\s*include\s*<([^>]+)\.h>")
    question = re.compile(r"^\s*#\s*(?:el)?if.*(_WIN32|_WIN64|__MINGW|__APPLE__|__linux|__unix|BSD__|__GLIBC__|__MUSL)")
    seen = 0
    for path in sources(root):
        if path.split("/")[0] not in ("lib", "kernels", "solver", "mpi", "compat", "tools"):
            continue
        if rooms.match(path):
            seen += 1
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = header.match(line)
                if match and not match.group(1).startswith("hinge/") and match.group(1) not in STANDARD + LIBRARIES:
                    complain(f"{path}:{number}: {match.group(1)}.h is a system's: lib/base/system.h and tools/system.h")
                match = question.match(line)
                if match:
                    complain(f"{path}:{number}: asks for a system by {match.group(1)}")
    if seen != 6:
        complain("the rooms for the system are not where check_system looks for them")


def check_tour(root):
    """The table of rooms in doc/tour.md is that of ROOMS."""
    with open(os.path.join(root, "doc", "tour.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `([^|]*)` \|[^|]*\|([^|]*)\|$", file.read(), re.M)
    if {room: tuple(re.findall(r"`([^`]*)`", seen)) for room, seen in rows} != \
            {room: tuple(other for other in seen if other != room) for room, seen in ROOMS.items()}:
        complain("doc/tour.md: its rooms and what they may include are not those of ROOMS")


def check_lines(root):
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            long = [(number, len(line.rstrip("\n"))) for number, line in enumerate(file, 1)
                    if len(line.rstrip("\n")) > COLUMNS]
        if long:
            number, length = long[0]
            complain(f"{path}:{number}: {length} columns, {COLUMNS} at most; {len(long)} such lines")


def check_rules(root):
    """The numbers of solver/smo/rules.h and lib/base/teller.h are defined once, and nobody writes them out."""
    once = {}
    for header in ("solver/smo/rules.h", "lib/base/teller.h"):
        with open(os.path.join(root, header), encoding="utf-8") as file:
            once.update(re.findall(r"^(?:#define|   )\s*HG_(\w+)\s+=?\s*([0-9.e-]+)", file.read(), re.M))
    if not {"STALL_ROUNDS", "MAX_CORRECTIONS", "SLACK", "ASK_EVERY"} <= set(once):
        complain("solver/smo/rules.h and lib/base/teller.h do not define what they are there for")
    odd = [once[name] for name in ("BETTER", "SLACK", "ERROR_SHARE")]
    again = re.compile(r"(?:#define\s+|\bconst double |^\s+)(?:HG_|HM_)?(%s)\s*(?:=\s*[0-9.]|\s[0-9.])" % "|".join(once))
    written = re.compile(r"(?<![\w.])(%s)(?![\w.])" % "|".join(map(re.escape, odd)))
    for path in sources(root):
        if path in ("solver/smo/rules.h", "lib/base/teller.h") or path.split("/")[0] in ("test", "tools", "examples", "benchmarks"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = again.search(line)
                if match:
                    complain(f"{path}:{number}: {match.group(1)} is defined a second time")
                match = written.search(line) if path.startswith(("solver/smo", "mpi")) else None
                if match and "/*" not in line[:match.start()] and not line.startswith(" *"):
                    complain(f"{path}:{number}: {match.group(1)} has a name in solver/smo/rules.h")


def check_words(root):
    """Nobody switches a locale, and test/folder.c alone says where temporary files are."""
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        if not path.startswith("test/") and re.search(r"\b(uselocale|setlocale)\(", text):
            complain(f"{path}: switches the locale")
        if path.startswith("test/") and '"/tmp' in text and path not in ("test/folder.c", "test/fuzz/fuzz.c"):
            complain(f"{path}: makes its own temporary files, where test/folder.h has them below TMPDIR")


def comments(root):
    """Each comment of the library and the tools: path, line where it begins, its text in one line."""
    for path in sources(root):
        if path.split("/")[0] in ("include", "lib", "kernels", "solver", "mpi", "compat", "tools"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            for match in COMMENT.finditer(text):
                if match.group().startswith("/"):
                    yield path, text.count("\n", 0, match.start()) + 1, re.sub(r"\s*\n\s*\*?\s*", " ", match.group())


def check_sets(root):
    """Comments name no set of benchmarks/prepare.c."""
    with open(os.path.join(root, "benchmarks", "prepare.c"), encoding="utf-8") as file:
        sets = set(re.findall(r'^    \{ "([^"]+)", ', file.read(), re.M))
    if len(sets) < 20 or not SETS_THAT_ARE_WORDS < sets:
        complain("benchmarks/prepare.c has no table of sets, or one without those that are words")
    names = "|".join(sorted(map(re.escape, sets - SETS_THAT_ARE_WORDS)))
    words = "|".join(sorted(SETS_THAT_ARE_WORDS))
    named = re.compile(r"(?<![\w-])(?:(?i:%s)|(?:%s)%s)" % (names, words, r"(?=,? \(?(?:C =|\d[\d,]* (?:rows|and))|'s )"))
    for path, number, text in comments(root):
        for match in named.finditer(text):
            complain(f"{path}:{number}: the comment names {match.group()}: figures of data sets stand in doc/tried.md")


def check_links(root):
    """Where comments link to doc/tried.md it has the title they tell, or their file in "What each part buys"."""
    with open(os.path.join(root, "doc", "tried.md"), encoding="utf-8") as file:
        tried = file.read()
    parts = tried.partition("\n## What each part buys\n")[2].partition("\n## ")[0]
    for path, number, text in comments(root):
        for title in re.findall(r'doc/tried\.md(?:,? \(?"([^"]+)")?', text):
            if title and title.lower() not in tried.lower():
                complain(f'{path}:{number}: doc/tried.md has no "{title}"')
            if not title and f"`{path}`" not in parts:
                complain(f'{path}:{number}: links to doc/tried.md, where "What each part buys" does not name the file')


# ---- objects -------------------------------------------------------------------------------------------------

def nm(*arguments):
    command = [os.environ.get("NM", "nm"), *arguments]  # another one where hinge is for another processor
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def check_objects(archive):
    """sysv format: name|value|class|type|size|line|section"""
    member, count = "?", 0
    for line in nm("--format=sysv", archive):
        match = re.match(r"(?:Symbols from|Undefined symbols from) .*\[(.*)\]", line)
        if match:
            member = os.path.basename(match.group(1))
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 7 or fields[0] == "Name":
            continue
        count += 1
        name, kind, section = fields[0], fields[2], fields[6]
        writable = kind in "dDbBCsSgG" and not section.startswith(".data.rel.ro")
        if name.startswith(".LANCHOR"):  # a second name of what begins there, on some processors
            continue
        if (writable or section.startswith((".tdata", ".tbss"))) and not (member, name) == PLACE_OF_THREAD:
            complain(f"{member}: {name} is writable data ({kind} {section})")
        if kind == "U" and name in FORBIDDEN:
            complain(f"{member}: uses {name}")
        if kind == "U" and name in ONLY_IN and not member.endswith(ONLY_IN[name]):
            complain(f"{member}: uses {name}")
        if kind == "U" and name.startswith("LAPACKE_") and not name.endswith("_work"):
            complain(f"{member}: uses {name}, which allocates; {name}_work does not")
        if kind in "TDBRVWC" and not name.startswith(("hg_", "hinge_", "_")):
            complain(f"{member}: {name} begins neither with hg_ nor with hinge_")
    if count == 0:
        complain(f"{archive}: no symbols")


def check_exports(shared, listed, update):
    exported = sorted(line.split()[-1] for line in nm("-D", "--defined-only", shared))
    if update:
        with open(listed, "w", encoding="utf-8") as file:
            file.write("".join(name + "\n" for name in exported))
    with open(listed, encoding="utf-8") as file:
        wanted = file.read().split()
    for name in exported:
        if not name.startswith("hinge_"):
            complain(f"exported: {name} does not begin with hinge_")
    for name in sorted(set(exported) - set(wanted)):
        complain(f"exported: {name} is not in test/symbols.txt")
    for name in sorted(set(wanted) - set(exported)):
        complain(f"not exported: {name}, which test/symbols.txt lists")


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    root, archive, shared = sys.argv[1:4]
    check_includes(root)
    check_system(root)
    check_tour(root)
    check_lines(root)
    check_rules(root)
    check_sets(root)
    check_links(root)
    check_words(root)
    check_objects(archive)
    check_exports(shared, os.path.join(root, "test", "symbols.txt"), "--update" in sys.argv)
    print(f"{len(problems)} violations")
    sys.exit(1 if problems else 0)


main()
