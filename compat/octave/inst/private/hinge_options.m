% p = hinge_options (text, p): svm-train's options, such as '-c 10 -g 0.5 -w1 2', into the structure p, whose fields of
% one letter are those that are known, with their defaults. Weights of classes are rows of p.w; -q takes no value.
function p = hinge_options (text, p)
  if ~ischar (text)
    error ('options are not text');
  end
  words = strsplit (strtrim (text));
  k = 1;
  while k <= numel (words) && ~isempty (words{k})
    name = words{k};
    letter = name(2:end);
    is_weight = numel (letter) > 1 && letter(1) == 'w' && isfield (p, 'w');
    if strcmp (name, '-q')
      p.q = 1;
      k = k + 1;
      continue
    end
    if name(1) ~= '-' || ~(is_weight || numel (letter) == 1 && letter ~= 'w' && isfield (p, letter))
      error ('no such option: %s', name);
    end
    value = str2double (words{min (k + 1, end)});
    if k == numel (words) || isnan (value) || is_weight && isnan (str2double (letter(2:end)))
      error ('%s takes a number', name);
    end
    if is_weight
      p.w(end + 1, :) = [str2double(letter(2:end)), value];
    else
      p.(letter) = value;
    end
    k = k + 2;
  end
end
