% predicted = svmpredict (labels, instances, model)
% [predicted, accuracy, values] = svmpredict (labels, instances, model, options)
%
% Predicts by a model of svmtrain, or of LIBSVM's. labels: a column, by which the accuracy is measured; random ones
% where they are not known. instances: as in svmtrain; of a precomputed kernel, a serial number that is not looked at
% and the kernel values with the instances that were trained on. options: '-b 1' for probabilities, '-q' to print
% nothing.
%
% predicted: a column of labels or values. accuracy: [percent of equal labels; mean squared error; squared correlation
% coefficient]. values: a row each, decision values of pairs of classes (1 and 2, 1 and 3, ..., 2 and 3, ...), or the
% probabilities of the classes in the order of model.Label.
%
% See also: svmtrain
function [predicted, accuracy, values] = svmpredict (labels, instances, model, options)
  if nargin < 3 || nargin > 4 || ~isstruct (model) || ~isfield (model, 'Parameters') || ~isfield (model, 'SVs')
    error ('svmpredict: arguments are (labels, instances, model, options), the model of svmtrain');
  end
  y = double (full (labels(:)));
  if size (instances, 1) ~= numel (y)
    error ('svmpredict: %d instances, but %d labels', size (instances, 1), numel (y));
  end
  if nargin < 4
    options = '';
  end
  try
    p = hinge_options (options, struct ('b', 0, 'q', 0));
    [x, vectors] = aligned (instances, model);
    task = model.Parameters(1);
    [predicted, values] = hinge_mex ('predict', x, model, vectors, p.b ~= 0 && task < 3);
  catch failure
    hinge_raise ('svmpredict', failure);
  end
  values = values';
  if model.nr_class == 1 && isempty (values)
    values = ones (numel (y), 1);
  end
  title = '';
  if p.q
    title = [];
  end
  accuracy = hinge_rates (predicted, y, task, title);
end

% Instances, full, and support vectors, sparse and a column each, of the same features: those that a support vector
% has, and one by which all others count in the kernel.
function [x, vectors] = aligned (x, model)
  kernel = model.Parameters(2);
  vectors = sparse (double (model.SVs))';
  if kernel == 4
    vectors = full (vectors);
    x = x(:, 2:end);
  else
    x(:, end + 1 : size (vectors, 1)) = 0;
    vectors(end + 1 : size (x, 2), :) = 0;
    kept = any (vectors, 2);
    rest = abs (double (x(:, ~kept)));
    x = x(:, kept);
    vectors = vectors(kept, :);
    if kernel > 7 && nnz (rest)
      x = [double(x), sum(rest, 2)];
    elseif nnz (rest)
      x = [double(x), sqrt(sum (rest .^ 2, 2))];
    end
  end
  if issparse (x) || islogical (x)
    x = double (full (x));
  end
end
