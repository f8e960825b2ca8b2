% hinge_raise (who, failure): an error of the function that the user called, in the words of one that hinge_mex raised.
function hinge_raise (who, failure)
  error ('%s: %s', who, regexprep (failure.message, '^hinge_mex: ', ''));
end
