% [dense, serial] = hinge_dense (x, p): instances for a training by p. Columns of a sparse matrix that are empty are
% left out; of a precomputed kernel the serial numbers stand apart.
function [dense, serial] = hinge_dense (x, p)
  serial = [];
  if p.t == 4
    serial = double (full (x(:, 1)));
    x = x(:, 2:end);
    if any (serial < 1 | serial > size (x, 2) | serial ~= fix (serial))
      error ('serial numbers of instances are whole, from 1 to the number of kernel values, %d', size (x, 2));
    end
  elseif issparse (x) && any (any (x, 1))
    x = x(:, any (x, 1));
  end
  if issparse (x) || islogical (x)
    x = double (full (x));
  end
  dense = x;
end
