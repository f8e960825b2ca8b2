#!/usr/bin/env python3
"""test_sample.py HINGE SOURCE: hinge check and hinge sample, beside LIBSVM's checkdata.py and subset.py.

Exit 1 if a check failed.
"""
import collections
import gzip
import os
import random
import re
import shutil
import subprocess
import sys

from outside import check, end, folder, read, write

hinge = os.path.abspath(sys.argv[1])
digits = os.path.join(os.path.abspath(sys.argv[2]), "data/digits.train.xz")


def run(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True)


def lines_of(path):
    return read(path).splitlines(True)


def labels(lines):
    return collections.Counter(line.split()[0] for line in lines)


def parts(data, *words):
    """What is taken of data and what is left, which are a partition that keeps the order."""
    done = run(hinge, "sample", *words[:-1], data, words[-1], "part", "rest")
    check(f"sample {words} of {data}", done.returncode == 0 and not done.stderr, done.stderr)
    whole, part, rest = lines_of(data), lines_of("part"), lines_of("rest")
    mixed, k = [], 0
    for line in whole:
        k += k < len(part) and part[k] == line
    check("the part is in the file's order", k == len(part))
    mixed = collections.Counter(part) + collections.Counter(rest)
    check("no line is lost or twice", mixed == collections.Counter(whole))
    return part


os.chdir(folder)

# ---- check ----

faults = {"2 2:1 1:3": "index 1 after 2", "2 2:1 2:3": "stands twice", "": "empty line", "x 1:3": "label 'x'",
          "1 1:nan": "is not finite", "1 1:1 2:x": "value 'x' of index 2", "1 3:4:5": "value '4:5'", "nan 1:1": "label",
          "1 -1:2": "'-1:2' is not index:value", "1 1:2 a": "'a' is not index:value", "1 1:1e400": "not finite"}
good = ["1 1:1 2:-2e-3", "-1 4:2", "+1", "1 1:0.5 # a comment"]
for seed in range(6):
    lines = good[:1] + random.Random(seed).sample(good[1:] + list(faults), len(good) - 1 + len(faults))
    done = run(hinge, "check", write("some", "".join(line + "\n" for line in lines)))
    said = done.stdout.splitlines()
    want = [k for k, line in enumerate(lines) if line in faults]
    check(f"each faulty line is told, mix {seed}", len(said) == len(want) + 1 and
          all(text.startswith(f"some:{k + 1}: ") and faults[lines[k]] in text for text, k in zip(said, want)), said)
    check("their number and the exit status", said[-1] == f"Found {len(want)} lines with error." and
          done.returncode == 1, said)
    theirs = run(sys.executable, shutil.which("svm-checkdata"), "some").stdout if shutil.which("svm-checkdata") and seed == 0 else ""
    numbers = {int(n) for n in re.findall(r"^line (\d+):", theirs, re.M)}
    own = {k + 1 for k in want if "#" not in lines[k] and "1e400" not in lines[k]} # which it reads otherwise
    comment = {k + 1 for k, line in enumerate(lines) if "#" in line}
    check("checkdata.py finds the same", not theirs or numbers - comment == own, f"{numbers}, {own}")
done = run(hinge, "check", digits)
check("a file without fault", done.returncode == 0 and done.stdout == "No error.\n", done.stdout + done.stderr)
done = run(hinge, "check", write("open", "1 1:1\n-1 1:2"))
check("an open end is warned of", done.returncode == 0 and "open:2: no newline" in done.stderr, done.stderr)
with gzip.open("packed.gz", "wt") as file:
    file.write("1 1:1\n1 1:x\n")
check("packed data", run(hinge, "check", "packed.gz").stdout.startswith("packed.gz:2: value 'x'"))
check("the first faulty line is told, before a good one", run(hinge, "check", write("first", "1 a\n1 b\n1 1:1\n1 c\n"))
      .stdout.count("first:") == 3)
check("words", run(hinge, "check", write("words", "a 1:1\nb 1:2\n")).stdout == "No error.\n")
check("a number among words", "words:3: label '7' is a number" in
      run(hinge, "check", write("words", "a 1:1\nb 1:2\n7 1:1\n")).stdout)
check("precomputed", run(hinge, "check", "--precomputed", write("kernel", "1 0:1 1:1 2:0\n2 0:2 1:0 2:1\n")).stdout ==
      "No error.\n" and "kernel:1: index 0" in run(hinge, "check", "kernel").stdout)
done = run(hinge, "check", write("t.csv", "1,2,3\n1,2\n1,x,3\n"))
check("CSV: each faulty line", done.returncode == 1 and "t.csv:2: 2 columns" in done.stdout and
      "t.csv:3: column 2: 'x'" in done.stdout and "Found 2 lines" in done.stdout, done.stdout)
bad = {3: "'x' is not a number", 4: "missing value", 6: "'z' is no number", 7: "3 columns where line 1 has 2"}
done = run(hinge, "check", write("t.csv", "y,a\n1,2\n1,x\n2,NA\n3,4\nz,1\n1,2,3\n7,8\n"))
said = done.stdout.splitlines()
check("and behind a header", len(said) == 5 and all(f"t.csv:{k}: " in text and bad[k] in text
                                                    for k, text in zip(bad, said)), said)
check("a table of words", run(hinge, "check", "--categories", "a", "--label-column", "y", write("t.csv", "a,y\nu,1\nv,2\n"))
      .stdout == "No error.\n")
check("a file of nothing", run(hinge, "check", write("none", "")).returncode == 1)
check("no file", run(hinge, "check", "absent").returncode == 1 and run(hinge, "check").returncode == 2)

# ---- sample ----

subprocess.run(f"xz -dc '{digits}' >digits", shell=True, check=True)
write("rare", "".join(f"{'a' if k % 50 == 7 else 'b' if k % 3 else 'c'} 1:{k}\n" for k in range(200)))
write("values", "".join(f"{k / 7} 1:{k}\n" for k in range(50)))
for data, count in ("digits", 200), ("digits", 1438), ("digits", 100), ("rare", 20), ("rare", 3), ("rare", 77):
    part = parts(data, count)
    check(f"{count} lines", len(part) == count, len(part))
    if shutil.which("svm-subset"):
        theirs = labels(run(sys.executable, shutil.which("svm-subset"), data, count).stdout.splitlines())
        check("as many of each class as subset.py takes", labels(part) == theirs, f"{labels(part)}, {theirs}")
for seed in range(3):
    check("at random: so many", len(parts("values", "-s", 1, "--seed", seed, 20)) == 20)
often = collections.Counter(line for seed in range(300) for line in
                            run(hinge, "sample", "-s", 1, "--seed", seed, "values", 20).stdout.splitlines())
# 300 draws of chance 0.4: 120, with deviation 8.5
check("at random: each line as often", len(often) == 50 and 70 < min(often.values()) <= max(often.values()) < 170, often)
check("the same seed takes the same", run(hinge, "sample", "rare", 20).stdout == run(hinge, "sample", "rare", 20).stdout
      != run(hinge, "sample", "--seed", 1, "rare", 20).stdout)
done = run(hinge, "sample", "values", 20)
check("values have no classes", done.returncode == 1 and re.search("values: 20 lines.*-s 1", done.stderr) and
      not done.stdout, done.stderr)
done = run(hinge, "sample", "values", 51)
check("more than there are", done.returncode == 1 and "50 lines" in done.stderr, done.stderr)
check("zero, and no count", run(hinge, "sample", "values", 0).returncode == run(hinge, "sample", "values").returncode == 2)
write("t.csv", "kind,x\n" + "".join(f"{'ab'[k % 2]},{k}\n" for k in range(10)))
run(hinge, "sample", "--header", "t.csv", 4, "part", "rest")
check("a header begins both", lines_of("part")[0] == lines_of("rest")[0] == "kind,x\n" and len(lines_of("part")) == 5 and
      len(lines_of("rest")) == 7)
done = run(hinge, "sample", "t.csv", 4, "part", "rest")
check("which is found by itself", done.returncode == 0 and len(lines_of("part")) == 5 and len(lines_of("rest")) == 7 and
      lines_of("part")[0] == lines_of("rest")[0] == "kind,x\n", done.stderr)
write("t.csv", "id,x,kind\n" + "".join(f"{k},{k},\"{'a, b' if k % 4 else 'c'}\"\n" for k in range(40)))
done = run(hinge, "sample", "--label-column", "kind", "t.csv", 10, "part", "rest")
part = lines_of("part")[1:]
check("classes by a column's name", len(part) == 10 and sum("c" in line for line in part) == 3, done.stderr, part)
write("t.txt", read("t.csv").replace("\"a, b\"", "d").replace(",", " "))
done = run(hinge, "sample", "--format", "csv", "--label-column", -1, "t.txt", 10, "part", "rest")
part = lines_of("part")[1:]
check("by its number, of a table of blanks", len(part) == 10 and sum("c" in line for line in part) == 3, done.stderr)
write("t.csv", "y,x\n" + "".join(f"{k / 7},?\n" for k in range(20)))
check("at random, whatever the labels are", len(run(hinge, "sample", "-s", 1, "t.csv", 5).stdout.splitlines()) == 6)
rare = lines_of("rare")
for files in ["rare"], ["half", "rare"], ["half", "half"], ["half", "no-folder/rest"]:
    done = run(hinge, "sample", "rare", 20, *files)
    check("files that cannot be written: nothing is", done.returncode > 0 and f"{files[-1]}: cannot" in done.stderr and
          lines_of("rare") == rare and not os.path.exists("half"), done.stderr)
check("a full disk", run(hinge, "sample", "rare", 20, "/dev/full").returncode == 1)

end()
