"""Charts of benchmarks/compare, as programs for gnuplot."""
import math
import statistics

STYLE = """set encoding utf8
set border 3 linecolor rgb "#444444"
set tics nomirror
set grid ytics linecolor rgb "#dddddd"
set logscale y
set format y "%g"
"""


def median(runs, key):
    values = [run[key] for run in runs if key in run]
    return statistics.median(values) if values else None


def data_block(name, lines):
    return f"${name} << EOD\n" + "\n".join(lines) + "\nEOD\n"


def draw_bars(name, title, labels, series, note):
    """Bars side by side for each label; series: (title, colour, [(height or None, whether it took longer)]). note: what
    the > above a bar means."""
    width = 0.86 / max(len(series), 1)
    blocks, plots = "", []
    heights = [height for _, _, bars in series for height, _ in bars if height]
    if not heights:
        raise OSError("nothing to draw")
    for k, (who, colour, bars) in enumerate(series):
        lines = [f'{x + (k - (len(series) - 1) / 2) * width:.4f} {height:.6g} "{">" if over else ""}"'
                 for x, (height, over) in enumerate(bars) if height]
        if lines:
            blocks += data_block(f"bars{k}", lines)
            plots += [f'$bars{k} using 1:2:({width}) with boxes linecolor rgb "{colour}" title "{who}"',
                      f"$bars{k} using 1:2:3 with labels offset 0, 0.4 notitle"]
    above = f"; >: {note}" if '">"' in blocks else ""
    low, high = 10 ** math.floor(math.log10(min(heights) * 0.5)), max(heights) * 2
    ticks = ", ".join(f'"{label}" {x}' for x, label in enumerate(labels))
    return blocks + STYLE + f"""
set terminal svg size {max(640, 78 * len(labels) + 90)}, 440 noenhanced font "sans-serif,13" background "white"
set output "{name}.svg"
set title "{title}{above}"
set ylabel "seconds, log scale"
set key outside top center horizontal maxrows 2 samplen 1.5
set style fill solid 1 noborder
set xrange [-0.6:{len(labels) - 0.4}]
set yrange [{low:g}:{high:g}]
set xtics ({ticks}) font "sans-serif,11" scale 0
plot {", ".join(plots)}
"""


def draw_sets(contests, contestants, options):
    """Bars of the median training time; one at the limit has a > above it."""
    series = []
    for c in contestants:
        bars = []
        for contest in contests:
            runs = contest.runs.get(c)
            over = bool(runs and runs[-1]["trouble"] and "train_s" not in runs[-1] and ">" in runs[-1]["trouble"])
            bars.append((options.limit if over else runs and median(runs, "train_s"), over))
        series.append((c.title, c.colour, bars))
    title = f"Training time, lower is better; {options.threads} threads for those that can"
    return draw_bars("compare", title, [contest.label for contest in contests], series,
                     f"over the limit of {options.limit:g} s")


def draw_grids(results, options):
    """Bars of what whole grids take on two processors: grid.py has two workers of svm-train."""
    kinds = (("hinge grid, drop exact", "hinge grid", "#1b6ca8", 1),
             ("hinge grid, drop race", "hinge grid --drop race", "#8fbcd9", 1),
             ("hinge grid, drop none", "hinge grid --drop none", "#c9e0ee", 1),
             ("GridSearchCV, intelex", "GridSearchCV, scikit-learn-intelex", "#e08e45", 1),
             ("svm-train -v 5", "grid.py, two workers", "#8a8a8a", 0.5))
    series = []
    for contestant, who, colour, share in kinds:
        runs = [next((run for run in found if run["contestant"] == contestant and run.get("wall_s")), None)
                for found in results.values()]
        bars = [(run["wall_s"] * share, bool(run.get("at_least"))) if run else (None, False) for run in runs]
        if any(height for height, _ in bars):
            series.append((who, colour, bars))
    points = sorted({found[0]["points"] for found in results.values()})
    title = (f"{' or '.join(map(str, points))} values of C and gamma, 5 folds, lower is better; "
             f"{options.threads} threads")
    return draw_bars("grid", title, list(results), series, "it takes longer")


def draw_scaling(contests, contestants, options):
    """Lines of the median training time over n and over d; a line ends where the limit was hit."""
    kinds = [kind for kind in "nd" if any(contest.kind == kind for contest in contests)]
    width = 380 * len(kinds) + 270
    program = STYLE + f"""
set terminal svg size {width}, 400 noenhanced font "sans-serif,13" background "white"
set output "scale.svg"
set logscale x
set format x "%g"
set ylabel "seconds of training, log scale" offset 1
set multiplot layout 1, {len(kinds)} margins {75 / width}, {1 - 235 / width}, 0.14, 0.88 spacing {65 / width}
set key at screen {1 - 225 / width}, screen 0.88 left top reverse Left samplen 2 spacing 1.3
"""
    for kind in kinds:
        plots = []
        for k, c in enumerate(contestants):
            points = [(contest.job[kind], median(contest.runs[c], "train_s")) for contest in contests
                      if contest.kind == kind and c in contest.runs and not contest.runs[c][-1]["trouble"]]
            if points:
                program += data_block(f"line{kind}{k}", [f"{x} {y:.6g}" for x, y in points])
                plots.append(f'$line{kind}{k} with linespoints linewidth 2 pointtype {2 * k + 5} '
                             f'linecolor rgb "{c.colour}" title "{c.title}"')
        if not plots:
            raise OSError("nothing to draw")
        sizes, others = zip(*[(contest.job[kind], contest.job["d" if kind == "n" else "n"]) for contest in contests
                              if contest.kind == kind])
        title, what = ((f"covtype, {max(others)} features", "training rows") if kind == "n" else
                       (f"made-up data, {max(others)} training rows", "features"))
        program += f"""set title "{title}"
set xlabel "{what}"
set xrange [{min(sizes) * 0.8}:{max(sizes) * 1.25}]
set xtics ({", ".join(map(str, sizes))}) font "sans-serif,11"
plot {", ".join(plots)}
unset key
unset ylabel
"""
    return program
