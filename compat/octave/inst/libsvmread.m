% [labels, instances] = libsvmread (name)
%
% Reads a file of LIBSVM's format, also compressed with xz or gz. labels: a column; instances: a sparse matrix.
%
% See also: libsvmwrite, svmtrain
function [labels, instances] = libsvmread (name)
  if nargin ~= 1 || ~ischar (name)
    error ('libsvmread: the argument is the name of a file');
  end
  try
    [labels, values, columns] = hinge_mex ('read', name);
  catch failure
    hinge_raise ('libsvmread', failure);
  end
  instances = sparse (values');
  if ~isempty (columns)
    [i, j, v] = find (instances);
    instances = sparse (i, columns(j), v, size (instances, 1), columns(end));
  end
end
