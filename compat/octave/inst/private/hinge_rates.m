% [accuracy; mse; scc] = hinge_rates (predicted, y, svm_type, title): percent of equal labels, mean squared error and
% squared correlation coefficient, those of the task printed behind the title; title []: nothing is printed.
function rates = hinge_rates (predicted, y, svm_type, title)
  correct = sum (predicted == y);
  a = predicted - mean (predicted);
  b = y - mean (y);
  rates = [100 * correct / numel(y); mean((predicted - y) .^ 2); (a' * b) ^ 2 / ((a' * a) * (b' * b))];
  if ischar (title) && svm_type > 2
    fprintf ('%sMean squared error = %g (regression)\n', title, rates(2));
    fprintf ('%sSquared correlation coefficient = %g (regression)\n', title, rates(3));
  elseif ischar (title)
    fprintf ('%sAccuracy = %g%% (%d/%d) (classification)\n', title, rates(1), correct, numel (y));
  end
end
