#!/usr/bin/env python3
"""test_tables.py HINGE: tables as R and pandas write them, in each command that reads some: columns by name, row numbers,
missing values, categories, and what is said of them.

Exit 1 if a check failed.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

from outside import check, end, folder, read, write

hinge = os.path.abspath(sys.argv[1])
os.chdir(folder)


def run(*words, **options):
    return subprocess.run([hinge, *map(str, words)], capture_output=True, text=True, **options)


def fine(name, *words):
    done = run(*words)
    check(name, done.returncode == 0 and not done.stderr, done.stderr)
    return done.stdout


def refuses(name, code, part, *words):
    done = run(*words)
    check(name, done.returncode == code and part in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def warns(name, part, *words):
    done = run(*words)
    check(name, done.returncode == 0 and "warning: " in done.stderr and part in done.stderr, done.stderr)
    return done.stdout


# ---- data: three kinds of flowers; people with holes and words ----

draw = random.Random(4911)
kinds = ["setosa", "versicolor", "virginica"]
flowers = [[round(draw.gauss(m, 0.3), 1) for m in means] + [kind] for kind, means in
           zip(kinds, ([5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0])) for _ in range(40)]
names = ["Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width", "Species"]
shuffled = draw.sample(range(120), 120)


def table(path, head, rows, apart=","):
    return write(path, "".join(apart.join(map(str, row)) + "\n" for row in ([head] if head else []) + rows))


def quoted(*words):
    return ['"%s"' % word for word in words]


plain = table("plain.csv", names, flowers)
by_r = table("r.csv", quoted("", *names), [quoted(k + 1) + row[:4] + quoted(row[4]) for k, row in enumerate(flowers)])
by_r_blanks = table("r.txt", quoted(*names), [quoted(k + 1) + row[:4] + quoted(row[4]) for k, row in enumerate(flowers)], " ")
by_pandas = table("pandas.csv", ["", *names], [[k] + row for k, row in enumerate(flowers)])
taken = table("shuffled.csv", ["", *names], [[k] + flowers[k] for k in shuffled])
turned = table("turned.csv", ["Petal.Width", "Species", "id", "Sepal.Width", "Petal.Length", "Sepal.Length"],
               [[row[3], row[4], 7, row[1], row[2], row[0]] for row in flowers])
bare = table("bare.csv", None, [row[4:] + row[:4] for row in flowers])

# ---- row numbers ----

for path in by_r, by_pandas, taken:
    warns(f"{path}: row numbers are warned of", f"{path}: column 1, which was taken for a feature, numbers the rows, as R "
          "and pandas write it: --ignore 1 leaves it out", "train", "-q", "--label-column", "Species", path, "m")
    fine(f"{path}: nothing is said where they are left out", "train", "-q", "--label-column", "Species", "--ignore", 1,
         path, path + ".model")
    warns(f"{path}: cross-validation and grids warn too", "--ignore 1", "train", "-v", 3, "--label-column", "Species", path)
    fine(f"{path}: plain table", "train", "-q", "--label-column", "Species", plain, "plain.model")
check("the model is that of the table without", read("r.csv.model") == read("pandas.csv.model") == read("plain.model"))
warns("a named one", "--ignore id leaves it out", "train", "-q", "--label-column", "y",
      table("id.csv", ["id", "x", "y"], [[k, k % 7, k % 2] for k in range(20)]), "m")
warns("scaled in place", "--ignore id leaves it out", "train", "--scale", "--label-column", "y", "id.csv", "m")
warns("a grid", "--ignore id", "grid", "--out", "null", "--log2c", "0,0,1", "--log2g", "0,0,1", "--label-column", "y", "id.csv")
fine("a feature of values is none", "train", "-q", "--label-column", "y",
     table("steps.csv", ["x", "y"], [[2 * k, k % 2] for k in range(20)]), "m")
warns("one taken for the label", "column 1, which was taken for the label, numbers the rows, as R and pandas write it: "
      "--ignore 1 leaves it out", "train", "-q", "-s", 3, table("index.csv", ["", "y", "a"], [[k, k % 3, k % 4]
                                                                                      for k in range(9)]), "m")
fine("the next column is the label then", "train", "-q", "-s", 3, "--ignore", 1, "index.csv", "index.model")
check("by its name", " y\n" in read("index.model"))

# ---- blanks ----

fine("R's rows have names, and blanks are between", "train", "-q", "--format", "csv", "--label-column", "Species", "--ignore",
     1, by_r_blanks, "blanks.model")
check("to the same model", read("blanks.model") == read("plain.model"))
refuses("a table by the name of text", 1, "r.txt: --label-column is for CSV only, and this is LIBSVM text, whose lines begin "
        "with labels; a table is read by --format csv", "train", "--label-column", "Species", by_r_blanks)
refuses("or without options", 1, "read it as such (--format csv)", "train", by_r_blanks)
refuses("labels alone are no training", 1, "there are labels and no features to train on", "train",
        table("alone.csv", None, [[k % 2] for k in range(9)]))
refuses("nor in a grid", 1, "no features to train on", "grid", "alone.csv")
many = table("many.csv", ["w", "x"], [[f"w{k}", k % 7] for k in range(301)])
refuses("nor 301 words that nobody called classes", 1, "column 1, which was taken for the label, has 301 different words",
        "train", many)
warns("but where somebody does", "301 different words", "train", "-q", "--max-iter", 1, "--label-column", "w", many, "m")

# ---- columns by name, in each command ----

model = "plain.model"
check("names stand in the model, where LIBSVM does not look", re.search(
    r"^SV hinge_names 4 1 Sepal.Length Sepal.Width Petal.Length Petal.Width Species hinge_words", read(model), re.M))
scored = fine("another order is matched by name", "predict", turned, model, "turned.out")
check("so that it is as good", scored == fine("as the own one", "predict", plain, model, "plain.out") and
      read("turned.out") == read("plain.out"))
write("unlabelled.csv", "".join(",".join(line.split(",")[:1] + line.split(",")[2:]) for line in open(turned)))
fine("a table without the label needs no option", "predict", "unlabelled.csv", model, "unlabelled.out")
check("and says the same", read("unlabelled.out") == read("plain.out"))
fine("a table without a header goes by its order", "predict", "-q", bare, model, "bare.out")
check("to the same", read("bare.out") == read("plain.out"))
refuses("a column that lacks is named", 1, "there is no column 'Petal.Width', which the model has", "predict",
        write("lacks.csv", read(plain).replace("Petal.Width", "petal_width", 1)), model)
refuses("as is one that is none", 1, "--label-column: there is no column 'species', only Sepal.Length, Sepal.Width, "
        "Petal.Length, Petal.Width, Species", "train", "--label-column", "species", plain)
refuses("or one to leave out", 1, "--ignore: there is no column 'x'", "train", "--ignore", "x", plain)
fine("columns can be chosen", "train", "-q", "--label-column", "Species", "--columns", "Petal.Length,Petal.Width", plain,
     "petals.model")
check("as can others be left out", fine("by number", "train", "-q", "--label-column", -1, "--ignore", "1-2", plain, "m") == "" and
      read("m") == read("petals.model"))
fine("a test file in training is matched too", "train", "-q", "--label-column", "Species", "--test", turned, plain, "m")
check("reports name them", re.search(r"^features +Sepal.Length, Sepal.Width, Petal.Length, Petal.Width$.^predicted +Species$",
                                     fine("report", "report", model, turned), re.M | re.S))
report = json.loads(fine("report as JSON", "report", "--json", model, turned))
check("in JSON too", report["names"] == names[:4] and report["target"] == "Species")
check("info of a model", "names      Sepal.Length, Sepal.Width, Petal.Length, Petal.Width\npredicts   Species\n" in
      fine("info", "info", model))
told = json.loads(fine("info as JSON", "info", "--json", "--label-column", "Species", model, plain))["files"]
check("of both", told[0]["names"] == told[1]["names"] == names[:4] and told[0]["target"] == told[1]["target"] == "Species")
check("exports name features and classes", " * The features, in their order:\n *     Sepal.Length,\n" in
      fine("export", "export", "--c", model) and " *     virginica\n */\n" in run("export", "--c", model).stdout)
fine("calibrate matches", "calibrate", "-q", "-o", "calibrated.model", model, turned)
check("and keeps the names", "hinge_names 4 1" in read("calibrated.model"))
fine("scale", "scale", "--label-column", "Species", "--ignore", 1, "--output", "scaled", by_r)
check("takes columns by name", len(read("scaled").splitlines()[0].split()) == 5 and read("scaled").startswith("setosa 1:"))
fine("grids keep names", "grid", "-q", "--out", "null", "--log2c", "0,0,1", "--log2g", "0,0,1", "--label-column", "Species",
     plain, "grid.model")
check("in the model", "hinge_names 4 1" in read("grid.model"))
fine("without a header there are none", "train", "-q", bare, "m")
check("and the file is as ever", "hinge_names" not in read("m"))
if shutil.which("svm-predict"):
    text = write("text", "".join(f"{kinds.index(row[4]) + 1} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row[:4])) +
                                 "\n" for row in flowers))
    done = subprocess.run(["svm-predict", text, model, "theirs.out"], capture_output=True, text=True)
    check("svm-predict reads the model", done.returncode == 0, done.stdout + done.stderr)
    check("and predicts as hinge does", [kinds[int(k) - 1] for k in read("theirs.out").split()] == read("plain.out").split())

# ---- missing values and categories ----

people = [[draw.choice(["red", "green", "blue"]), draw.choice([1, 2, 3]), draw.randint(1, 80)] for _ in range(90)]
holes = [(4, ""), (50, "NA"), (77, "?")]
rows = [[int((row[0] == "red") + row[1] + row[2] / 40 > 3.3)] + row for row in people]
whole = table("whole.csv", ["y", "colour", "class", "age"], rows)
holed = table("holed.csv", ["y", "colour", "class", "age"],
              [row[:3] + [dict(holes).get(k, row[3])] for k, row in enumerate(rows)])
refuses("words are said to be words", 1, "whole.csv:2: column 2 ('colour'): '" + people[0][0] + "' is not a number; words can "
        "be made columns (--categories), or left out (--ignore)", "train", "--label-column", "y", whole)
refuses("and holes to be holes, without a word of the label", 1, "holed.csv:6: missing value: column 4 ('age') is empty; drop "
        "such rows (--drop-missing), or fill it\n", "train", "--ignore", "colour", holed)
dropped = warns("rows are dropped where this is wanted", "holed.csv: 3 rows with missing values are left out", "train", "-q",
                "--drop-missing", "--categories", "colour,class", holed, "holed.model")
table("fewer.csv", ["y", "colour", "class", "age"], [row for k, row in enumerate(rows) if k not in dict(holes)])
fine("as if they were not there", "train", "-q", "--categories", "colour", "--categories", "class", "fewer.csv", "fewer.model")
check("to the same model", read("holed.model") == read("fewer.model"))
check("whose names are column=word", "hinge_names 7 1 colour=blue colour=green colour=red class=1 class=2 class=3 age y\n"
      in read("fewer.model"))
by_hand = write("by_hand", "".join(
    f"{y} " + " ".join(f"{k + 1}:{int(v)}" for k, v in enumerate([c == "blue", c == "green", c == "red", g == 1, g == 2, g == 3, age])
                       if v) + "\n" for y, c, g, age in rows))
fine("the words' columns", "train", "-q", "--categories", "colour,class", whole, "whole.model")
fine("made by hand", "train", "-q", by_hand, "hand.model")
check("are the same", read("whole.model").split("\n")[-20:] == read("hand.model").split("\n")[-20:])
few = table("few.csv", ["age", "class", "colour"], [[row[3], row[2], row[1]] for row in rows[:5]])
fine("a table with fewer words is matched by the model's", "predict", few, "whole.model", "few.out")
fine("which come from the model alone", "predict", "-q", whole, "whole.model", "whole.out")
check("and predicted the same", read("few.out").split() == read("whole.out").split()[:5])
refuses("a word that the model has not is named", 1, "column 3 ('colour'): 'pink' is none of the categories that the model "
        "knows", "predict", table("pink.csv", ["age", "class", "colour"], [[3, 1, "pink"]]), "whole.model", "o")
refuses("a label among them is none", 1, "--categories: column 1 ('y') is the label", "train", "--label-column", "y",
        "--categories", "y", whole)

# ---- words that lead on ----

warns("labels of a test file that the model has not are counted", "the labels of 40 of 120 examples, such as Setosa, are no "
      "classes of the model", "predict", write("capital.csv", read(plain).replace("setosa", "Setosa")), model)
warns("in training too", "the labels of 40 of 120", "train", "-q", "--label-column", "Species", "--test", "capital.csv", plain, "m")
refuses("a positive class that is none is called by its name", 2, "--positive: no example has label Foo", "train",
        "--positive", "Foo", "--label-column", "Species", plain)
refuses("a command is guessed", 2, "'trian' is no command of hinge: did you mean train?", "trian")
refuses("an option too", 2, "unknown or ambiguous option '--gama': did you mean --gamma?", "train", "--gama", 1, plain)
refuses("but not anything", 2, "unknown or ambiguous option '--nonsense'; see", "train", "--nonsense", plain)
refuses("data for a model", 1, "plain.csv: these are data, where a model is expected", "predict", model, plain)
refuses("a model for data", 1, "plain.model: this is a model, where data are expected", "train", model)
refuses("hexadecimal numbers are none", 1, "hex.csv:2: column 2 ('x'): '0x10' is hexadecimal", "train",
        write("hex.csv", "y,x\n1,0x10\n"))
write("long.csv", read(plain).replace("setosa", "a kind of flower with a long näme"))
fine("long names", "train", "-q", "--label-column", "Species", "long.csv", "long.model")
problems, confusion = fine("in a report", "report", "long.model", "long.csv").split("\nproblem")[1].split("leave one out")
check("keep columns straight", len({len(line) for line in ("problem" + problems).splitlines()}) == 1, problems)
check("of the confusion matrix too", len({len(line) for line in confusion.splitlines()[2:-1]}) == 1, confusion)

end()
