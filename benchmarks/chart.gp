# table.csv -> chart.svg, both in the current folder: seconds of training by set, hinge beside LIBSVM.
set datafile separator comma
set datafile missing ""
set datafile columnheaders
n = int(system("grep -c . table.csv")) - 1
set terminal svg size (n * 86 + 190), 460 noenhanced font "sans-serif,13" background "white"
set output "chart.svg"

set title "Training time (lower is better; LIBSVM has one thread)"
set ylabel "seconds, log scale"
set logscale y
set format y "%g"
set yrange [0.001:*]
set grid ytics linecolor rgb "#dddddd"
set border 3
set tics nomirror
set xtics font "sans-serif,11"
set key outside right top
set style fill solid 1 noborder
set boxwidth 0.38
set xrange [-0.6:n - 0.4]

bar(s) = s < 0.001 ? 0.001 : s
text(s) = sprintf(s < 0.1 ? "%.3f" : s < 10 ? "%.2f" : s < 100 ? "%.1f" : "%.0f", s)
capped(s, gave_up) = (gave_up > 0 ? "> " : "") . text(s)

plot "table.csv" using ($0):(0.001):xticlabels(stringcolumn("set")) with dots linecolor rgb "white" notitle, \
     "" using ($0 - 0.2):(bar(column("hinge_s"))) with boxes linecolor rgb "#1b6ca8" title "hinge", \
     "" using ($0 + 0.2):(bar(column("libsvm_s"))) with boxes linecolor rgb "#e08e45" title "LIBSVM", \
     "" using ($0 - 0.2):(bar(column("hinge_s"))):(text(column("hinge_s"))) \
         with labels offset 0, 0.5 font "sans-serif,9" notitle, \
     "" using ($0 + 0.2):(bar(column("libsvm_s"))):(capped(column("libsvm_s"), column("libsvm_gave_up"))) \
         with labels offset 0, 0.5 font "sans-serif,9" notitle
