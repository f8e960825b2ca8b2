% model = svmtrain (labels, instances)
% model = svmtrain (labels, instances, options)
% model = svmtrain (weights, labels, instances, options)
% rate  = svmtrain (labels, instances, '-v FOLDS ...')
%
% Trains a support vector machine, as LIBSVM's interface does. labels: a column of class labels or targets. instances:
% a matrix, a row each, full (double, single, uint8, int8) or sparse; for a precomputed kernel (-t 4) each row is its
% serial number, from 1, and its kernel values with all instances. weights: a column of the instances' own weights,
% which C is multiplied by.
%
% options are svm-train's:
%   -s 0   task: 0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR
%   -t 2   kernel: 0 linear, 1 polynomial, 2 RBF, 3 sigmoid, 4 precomputed; of hinge's own 6 Matern 3/2, 7 Matern 5/2,
%          8 Laplacian, 9 chi-squared, 10 Tanimoto
%   -d 3, -g 1/features, -r 0   degree, gamma and coef0 of the kernel
%   -c 1, -n 0.5, -p 0.1        C, nu, epsilon
%   -e 0.001   the violation at which to stop
%   -m MB      memory for kernel rows; chosen if it is not given
%   -h 1       shrinking, 0 or 1
%   -b 0       1: a model that predicts probabilities
%   -wL 1      factor of C for the class of label L
%   -v N       no model, but the accuracy in percent (regression: the mean squared error) of N-fold cross-validation
%   -q         print nothing
%
% model has LIBSVM's fields: Parameters (svm_type, kernel_type, degree, gamma, coef0), nr_class, totalSV, rho, Label,
% sv_indices, ProbA, ProbB, Prob_density_marks, nSV, sv_coef, SVs. A decision value is
% sum (sv_coef .* K (SVs, x)) - rho.
%
% See also: svmpredict, libsvmread
function model = svmtrain (varargin)
  weights = [];
  if nargin >= 3 && ~ischar (varargin{3})
    weights = double (full (varargin{1}(:)));
    varargin(1) = [];
  end
  if numel (varargin) < 2 || numel (varargin) > 3
    error ('svmtrain: arguments are (labels, instances, options) or (weights, labels, instances, options)');
  end
  y = double (full (varargin{1}(:)));
  x = varargin{2};
  if size (x, 1) ~= numel (y) || ~any (numel (weights) == [0, numel(y)])
    error ('svmtrain: %d instances, but %d labels and %d weights', size (x, 1), numel (y), numel (weights));
  end
  p = struct ('s', 0, 't', 2, 'd', 3, 'g', 1 / max (size (x, 2), 1), 'r', 0, 'c', 1, 'n', 0.5, 'p', 0.1, 'e', 0.001, ...
              'm', 0, 'h', 1, 'b', 0, 'v', NaN, 'q', 0, 'w', zeros (0, 2), 'serial', []);
  try
    p = hinge_options ([varargin{3:end}, ''], p);
    check_range (p, numel (y));
    [dense, p.serial] = hinge_dense (x, p);
    if ~isnan (p.v)
      model = hinge_rates (hinge_mex ('validate', y, dense, p, weights), y, p.s, 'Cross Validation ');
      model = model(1 + (p.s > 2));
      return
    end
    r = hinge_mex ('train', y, dense, p, weights);
  catch failure
    hinge_raise ('svmtrain', failure);
  end
  if ~strcmp (r.outcome, 'converged')
    warning ('hinge:outcome', 'svmtrain: training ended early: %s', r.outcome);
  end
  if ~p.q
    fprintf ('%s after %.3g s, obj = %g, nSV = %d, nBSV = %d\n', r.outcome, r.seconds, r.objective, ...
            numel (r.sv_indices), r.nBSV);
  end
  if p.t == 4
    vectors = x(r.sv_indices, 1);
  else
    vectors = x(r.sv_indices, :);
  end
  model = struct ('Parameters', [p.s; p.t; p.d; p.g; p.r], 'nr_class', size (r.sv_coef, 2) + 1, ...
                  'totalSV', numel (r.sv_indices), 'rho', r.rho, 'Label', r.Label, 'sv_indices', r.sv_indices, ...
                  'ProbA', r.ProbA, 'ProbB', r.ProbB, 'Prob_density_marks', r.Prob_density_marks, 'nSV', r.nSV, ...
                  'sv_coef', r.sv_coef, 'SVs', sparse (double (vectors)));
end

function check_range (p, n)
  ranges = {'s', 0:4; 't', [0:4, 6:10]; 'd', 0:1000; 'h', 0:1; 'b', 0:1; 'v', 2:n};
  for k = 1:size (ranges, 1)
    value = p.(ranges{k, 1});
    if ~any (value == ranges{k, 2}) && ~isnan (value)
      error ('-%s %g: there is no such value', ranges{k, 1}, value);
    end
  end
  if ~(p.m >= 0 && p.m < 2 ^ 40)
    error ('-m %g: not a number of megabytes', p.m);
  end
end
