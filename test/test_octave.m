% What compat/octave does, against plain loops and, where its interface for Octave is there (HINGE_LIBSVM_OCTAVE, a
% folder, or Debian's octave-statistics), LIBSVM. test_octave.sh runs this in the source folder.
1;

function check (truth, what)
  if ~all (truth(:))
    error ('not so: %s', what);
  end
end

function k = kernel (parameters, a, b)
  [degree, gamma, coef0] = deal (parameters(3), parameters(4), parameters(5));
  k = zeros (rows (a), rows (b));
  v = full (b);
  for i = 1:rows (a)
    u = full (a(i, :));
    dot = v * u';
    square = sumsq (u - v, 2);
    r = sqrt (gamma * square);
    switch parameters(2)
      case 0, k(i, :) = dot;
      case 1, k(i, :) = (gamma * dot + coef0) .^ degree;
      case 2, k(i, :) = exp (-gamma * square);
      case 3, k(i, :) = tanh (gamma * dot + coef0);
      case 6, k(i, :) = (1 + r) .* exp (-r);
      case 7, k(i, :) = (1 + r + r .^ 2 / 3) .* exp (-r);
      case 8, k(i, :) = exp (-gamma * sum (abs (u - v), 2));
      case 9, k(i, :) = exp (-gamma * sum ((u - v) .^ 2 ./ max (u + v, realmin), 2));
      case 10, k(i, :) = sum (min (u, v), 2) ./ sum (max (u, v), 2);
    end
  end
end

% Decision values of all pairs, and the labels by votes or of the sign or value, in plain loops.
function [labels, values] = plain (m, k)
  if isempty (m.Label)
    values = k * m.sv_coef - m.rho;
    labels = values;
    if m.Parameters(1) == 2
      labels = sign (values);
    end
    return
  end
  start = [0; cumsum(m.nSV)];
  votes = zeros (rows (k), m.nr_class);
  values = [];
  for i = 1:m.nr_class
    for j = i + 1:m.nr_class
      si = start(i) + 1:start(i + 1);
      sj = start(j) + 1:start(j + 1);
      f = k(:, si) * m.sv_coef(si, j - 1) + k(:, sj) * m.sv_coef(sj, i) - m.rho(columns (values) + 1);
      values = [values, f];
      votes(:, i) += f > 0;
      votes(:, j) += f <= 0;
    end
  end
  [~, best] = max (votes, [], 2);
  labels = m.Label(best);
end

% The conditions of optimality of C-SVC with two classes, to within the violation at which it stopped.
function check_optimal (m, k, y, bound, eps)
  alpha = zeros (size (y));
  alpha(m.sv_indices) = abs (m.sv_coef);
  s = y;
  f = k * (alpha .* s);
  free = -s + f;
  up = (s > 0 & alpha < bound * (1 - 1e-12)) | (s < 0 & alpha > 0);
  down = (s < 0 & alpha < bound * (1 - 1e-12)) | (s > 0 & alpha > 0);
  check (abs (sum (alpha .* s)) < 1e-9 * sum (alpha), 'the sum of coefficients is 0');
  check (alpha <= bound * (1 + 1e-12), 'no coefficient is above C');
  check (max (free(down)) - min (free(up)) < 1.01 * eps, 'the violation is at most eps');
end

function refused (f, words)
  try
    f ();
  catch e
    check (~isempty (strfind (e.message, words)), ['"', e.message, '" says "', words, '"']);
    return
  end
  error ('not refused: %s', words);
end

[y, x] = libsvmread ('data/breast_cancer.train.xz');
[y, x] = deal (y(1:150), x(1:150, :) * diag (1 ./ full (max (x(1:150, :)))));
[y3, x3] = libsvmread ('data/digits.train.xz');
some = find (y3 < 4)(1:120);
[y3, x3] = deal (y3(some), x3(some, :) / 16);
check (issparse (x) && isequal (size (x), [150, 30]) && isequal (unique (y), [-1; 1]), 'what libsvmread returns');

name = tempname ();
libsvmwrite (name, y3, x3);
[again, vectors] = libsvmread (name);
check (isequal (again, y3) && isequal (vectors, x3(:, 1:columns (vectors))), 'a file that is written and read');
fid = fopen (name, 'w');
fprintf (fid, '1 3:1 1000000:2\n2 7:0.5\n3 1000000:1\n');
fclose (fid);
[~, wide] = libsvmread (name);
check (isequal (wide, sparse ([1, 2, 1, 3], [3, 7, 1e6, 1e6], [1, 0.5, 2, 1])), 'few columns of a million');
delete (name);

% each task and kernel: decision values by plain loops, of sparse and full rows; features that a model has not
for task = 0:4
  for t = [0:3, 6:10]
    options = sprintf ('-q -s %d -t %d -g 0.3 -r 0.5 -n 0.3 -c 2', task, t);
    [labels, data] = deal (y3, x3);
    if task > 1
      [labels, data] = deal (full (x(:, 1)) + y, x(:, 2:end));
    end
    m = svmtrain (labels, data, options);
    check (isequal (m.SVs, sparse (data(m.sv_indices, :))) && m.totalSV == rows (m.sv_coef), 'the support vectors');
    check (isempty (m.Label) || isequal (sum (m.nSV), m.totalSV), 'the numbers of support vectors');
    more = [data, sparse(1:rows (data), 1, 0.1)];
    [predicted, ~, values] = svmpredict (labels, more, m, '-q');
    [truth, f] = plain (m, kernel (m.Parameters, more, [m.SVs, sparse(m.totalSV, 1)]));
    check (abs (values - f) < 2e-4 * max (1, max (abs (m.rho))), ['decision values, ', options]);
    sure = min (abs (f), [], 2) > 1e-3 | task > 2;
    check (abs (predicted(sure) - truth(sure)) < 2e-4 * max (1, abs (m.rho(1))), ['predictions, ', options]);
    [~, ~, same] = svmpredict (labels, full (more), svmtrain (labels, full (data), options), '-q');
    check (abs (values - same) < 2e-4 * max (1, max (abs (m.rho))), ['full rows, ', options]);
  end
end

m = svmtrain (y, x, '-q -c 3 -g 0.5 -w1 2 -e 1e-4');
k = kernel (m.Parameters, x, x);
check_optimal (m, k, y, 3 * (1 + (y == 1)), 1e-4);
weights = 0.5 + (1:150)' / 100;
check_optimal (svmtrain (weights, y, x, '-q -c 3 -g 0.5 -e 1e-4'), k, y, 3 * weights, 1e-4);
check (isequal (svmtrain (y, uint8 (full (16 * x)), '-q').rho, svmtrain (y, round (16 * x), '-q').rho), 'bytes');

% a precomputed kernel, its rows in another order, against RBF
order = [150:-1:1]';
p = svmtrain (y, [(1:150)', k], '-q -t 4 -c 3 -w1 2 -e 1e-4');
check (isequal (p.SVs, sparse (p.sv_indices)) && abs (p.rho - m.rho) < 1e-3, 'a precomputed kernel');
[~, ~, a] = svmpredict (y(order), [order, k(order, :)], p, '-q');
[~, ~, b] = svmpredict (y(order), x(order, :), m, '-q');
check (abs (a - b) < 1e-3, 'decision values of a precomputed kernel');

% probabilities are the sigmoid of the decision value; those of three classes sum to 1; a width; densities
m = svmtrain (y, x, '-q -b 1');
[~, ~, f] = svmpredict (y, x, m, '-q');
[~, accuracy, q] = svmpredict (y, x, m, '-q -b 1');
check (abs (q - [1, 0] - [-1, 1] ./ (1 + exp (-m.ProbA * f - m.ProbB))) < 1e-4, 'probabilities');
check (accuracy(1) > 90 && abs (accuracy(2) - 4 * (1 - accuracy(1) / 100)) < 1e-9, 'the accuracy');
[~, ~, q] = svmpredict (y3, x3, svmtrain (y3, x3, '-q -b 1'), '-q -b 1');
check (abs (sum (q, 2) - 1) < 1e-9 & q > 0, 'probabilities of classes');
check (svmtrain (x(:, 1), x(:, 2:end), '-q -s 3 -b 1').ProbA > 0, 'a width');
check (numel (svmtrain (y, x, '-q -s 2 -b 1').Prob_density_marks) == 10, 'densities');
m = svmtrain ([7; 7], [1, 2; 3, 4], '-q');
[a, ~, b] = svmpredict ([7; 7], [1, 2; 3, 4], m, '-q');
check (m.nr_class == 1 && isequal (a, [7; 7]) && isequal (b, [1; 1]), 'one class');
said = evalc ('rate = svmtrain (y, x, ''-v 5 -c 10'');');
check (rate > 90 && rate < 100 && ~isempty (strfind (said, 'Cross Validation Accuracy = ')), 'cross-validation');
said = evalc ('rate = svmtrain (full (x(:, 1)), x(:, 2:end), ''-v 5 -s 3 -p 0.01'');');
check (rate > 0 && rate < 0.1 && ~isempty (strfind (said, 'Squared correlation')), 'cross-validation of regression');

refused (@() svmtrain (y, x, '-c -1'), 'svmtrain: C: -1 is not');
refused (@() svmtrain (y, x, '-c'), '-c takes a number');
refused (@() svmtrain (y, x, '-wx 1'), '-wx takes a number');
refused (@() svmtrain (y, x, '-z 1'), 'no such option: -z');
refused (@() svmtrain (y, x, '-t 5'), '-t 5: there is no such value');
refused (@() svmtrain (y, x, '-m -1'), '-m -1');
refused (@() svmtrain (y, x, '-v 1'), '-v 1');
refused (@() svmtrain (y(1:9), x), '150 instances, but 9 labels');
refused (@() svmtrain ([1; 1], y, x, ''), '2 weights');
refused (@() svmtrain (y, int16 (x)), 'int16');
refused (@() svmtrain (y, [0 * y, k], '-t 4'), 'serial numbers');
refused (@() svmtrain (y, full (x) / 0), 'row 0, column');
refused (@() svmtrain (y), 'arguments are');
refused (@() svmpredict (y, x, m, '-b 1'), 'svmpredict: ');
refused (@() svmpredict (y, x, 5), 'the model of svmtrain');
refused (@() svmpredict (y, x, rmfield (svmtrain (y, x, '-q'), 'rho')), 'no field rho');
refused (@() svmpredict (y, x, setfield (svmtrain (y, x, '-q'), 'sv_coef', 1)), 'sv_coef');
refused (@() libsvmread ('nowhere'), 'libsvmread: nowhere: ');
refused (@() libsvmwrite ('/nowhere/file', y, x), 'libsvmwrite: /nowhere');

theirs = getenv ('HINGE_LIBSVM_OCTAVE');
ours = fileparts (which ('svmtrain'));
if isempty (theirs)
  theirs = [glob('/usr/lib/*/octave/packages/statistics-*/*/svmtrain.oct'); {''}]{1};
  theirs = fileparts (theirs);
end
if isempty (theirs)
  disp ('not compared: there is no interface of LIBSVM for Octave');
  return
end
cases = {};
for task = 0:4
  for t = 0:2
    cases{end + 1} = sprintf ('-s %d -t %d -g 0.2 -n 0.3 -c 2 -e 1e-6 -r 1 -q', task, t);
  end
end
cases{end + 1} = '-g 0.2 -w1 3 -w2 0.5 -e 1e-6 -q';
function [m, f] = trained (c, y, x)
  m = svmtrain (y, x, c);
  f = predicted (y, x, m);
end
function f = predicted (y, x, m)
  evalc ('[~, ~, f] = svmpredict (y, x, m);');
end
for k = 1:numel (cases)
  [labels, data] = deal (y3, x3);
  if k > 6 && k <= 15
    [labels, data] = deal (full (x(:, 1)) + y, x(:, 2:end));
  end
  [m, f] = trained (cases{k}, labels, data);
  rmpath (ours); addpath (theirs);
  check (strcmp (fileparts (which ('svmtrain')), theirs), 'LIBSVM is in reach');
  [theirs_m, theirs_f] = trained (cases{k}, labels, data);
  crossed = predicted (labels, data, m);
  rmpath (theirs); addpath (ours);
  here = predicted (labels, data, theirs_m);
  scale = max (1, max (abs (m.rho)));
  check (isequal ({m.Label(:), m.Parameters}, {theirs_m.Label(:), theirs_m.Parameters}), ['fields, ', cases{k}]);
  check (abs (f - theirs_f) < 5e-4 * scale, ['decision values of LIBSVM, ', cases{k}]);
  check (abs (f - crossed) < 2e-4 * scale & abs (here - theirs_f) < 2e-4 * scale, ['models exchanged, ', cases{k}]);
end
printf ('%d trainings compared with LIBSVM\n', numel (cases));
