% libsvmwrite (name, labels, instances)
%
% Writes a file of LIBSVM's format. labels: a column; instances: a matrix, sparse or full.
%
% See also: libsvmread
function libsvmwrite (name, labels, instances)
  if nargin ~= 3 || ~ischar (name) || size (instances, 1) ~= numel (labels)
    error ('libsvmwrite: arguments are (name, labels, instances), a label for each row of instances');
  end
  try
    hinge_mex ('write', name, double (full (labels(:))), double (full (instances)));
  catch failure
    hinge_raise ('libsvmwrite', failure);
  end
end
