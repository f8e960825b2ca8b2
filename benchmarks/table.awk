# table.csv, as bench_libsvm writes it -> a Markdown table. The columns that may hold commas come last.
BEGIN { FS = "," }

function field(name) { return $column[name] }
function seconds(s) { return s == "" ? "" : sprintf(s < 0.1 ? "%.4f" : s < 100 ? "%.2f" : "%.0f", s) }
function number(format, value) { return value == "" ? "" : sprintf(format, value) }
# "hinge / LIBSVM", or hinge's alone
function both(format, a, b) { return sprintf(format, a) (b == "" ? "" : " / " sprintf(format, b)) }

NR == 1 {
    for (i = 1; i <= NF; i++)
        column[$i] = i
    print "| set | n x d | C, gamma | hinge, s | LIBSVM, s | ratio | objective: hinge / LIBSVM" \
          " | SVs: hinge / LIBSVM | score on test rows: hinge / LIBSVM | prediction, s: hinge / LIBSVM" \
          " | rows computed / SVs | GFLOP/s | memory of training, MB: hinge / LIBSVM | outcome |"
    print "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    next
}

{
    more = field("libsvm_gave_up") == 1 ? "> " : ""
    score = both("%.4g", field("hinge_score"), field("libsvm_score"))
    print "| " field("set") " | " field("n") " x " field("d") " | " field("C") ", " field("gamma") \
          " | " seconds(field("hinge_s")) " | " more seconds(field("libsvm_s")) \
          " | " more number("%.1f", field("ratio")) \
          " | " both("%.8g", field("hinge_objective"), field("libsvm_objective")) \
          " | " both("%d", field("hinge_nsv"), field("libsvm_nsv")) \
          " | " (field("task") == "classification" ? score " %" : "MSE " score) \
          " | " both("%.3f", field("hinge_predict_s"), field("libsvm_predict_s")) \
          " | " number("%.2f", field("rows_per_sv")) " | " number("%.0f", field("gflops")) \
          " | " both("%.0f", field("hinge_mb"), field("libsvm_mb")) " | " field("outcome") " |"
    threads = field("threads"); runs = field("hinge_runs"); eps = field("eps"); cache = field("cache_mb")
    split($0, parts, "\"")
    blas = parts[2]
}

END {
    printf "\nTraining seconds are medians of up to %d runs by the wall clock; hinge has %d threads, " \
           "LIBSVM one; eps %g, cache %g MB each; %s.\n", runs, threads, eps, cache, blas
}
