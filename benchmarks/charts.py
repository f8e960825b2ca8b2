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


def draw_sets(contests, contestants, options):
    """Bars of the median training time; one at the limit has a > above it."""
    width = 0.86 / max(len(contestants), 1)
    blocks, plots, heights = "", [], []
    for k, c in enumerate(contestants):
        lines = []
        for x, contest in enumerate(contests):
            runs = contest.runs.get(c)
            over = runs and runs[-1]["trouble"] and "train_s" not in runs[-1] and ">" in runs[-1]["trouble"]
            height = options.limit if over else runs and median(runs, "train_s")
            if height:
                heights.append(height)
                lines.append(f'{x + (k - (len(contestants) - 1) / 2) * width:.4f} {height:.6g} "{">" if over else ""}"')
        if lines:
            blocks += data_block(f"bars{k}", lines)
            plots += [f'$bars{k} using 1:2:({width}) with boxes linecolor rgb "{c.colour}" title "{c.title}"',
                      f"$bars{k} using 1:2:3 with labels offset 0, 0.4 notitle"]
    if not heights:
        raise OSError("nothing to draw")
    above = f"; >: over the limit of {options.limit:g} s" if '">"' in blocks else ""
    low, high = 10 ** math.floor(math.log10(min(heights) * 0.5)), max(heights) * 2
    ticks = ", ".join(f'"{contest.label}" {x}' for x, contest in enumerate(contests))
    return blocks + STYLE + f"""
set terminal svg size {max(640, 78 * len(contests) + 90)}, 440 noenhanced font "sans-serif,13" background "white"
set output "compare.svg"
set title "Training time, lower is better; {options.threads} threads for those that can{above}"
set ylabel "seconds, log scale"
set key outside top center horizontal maxrows 2 samplen 1.5
set style fill solid 1 noborder
set xrange [-0.6:{len(contests) - 0.4}]
set yrange [{low:g}:{high:g}]
set xtics ({ticks}) font "sans-serif,11" scale 0
plot {", ".join(plots)}
"""


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
