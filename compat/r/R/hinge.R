# Support vector machines by hinge's library: arguments, names and conventions are those of e1071's svm. Models are
# text of hinge's model files (object$model); they scale what they predict themselves.

types <- c("C-classification" = "c_svc", "nu-classification" = "nu_svc", "one-classification" = "one_class",
           "eps-regression" = "epsilon_svr", "nu-regression" = "nu_svr", "quantile-regression" = "quantile")
kernels <- c(linear = "linear", polynomial = "polynomial", radial = "rbf", sigmoid = "sigmoid",
             precomputed = "precomputed", matern32 = "matern32", matern52 = "matern52", laplacian = "laplacian",
             chi2 = "chi2", tanimoto = "tanimoto")

hinge <- function(x, ...) UseMethod("hinge")

hinge.formula <- function(formula, data = NULL, ..., weights, subset, na.action = na.omit, scale = TRUE)
{
    call <- `[[<-`(match.call(), 1L, quote(hinge))
    frame <- call[c(1L, match(c("formula", "data", "weights", "subset"), names(call), 0L))]
    frame$na.action <- na.action
    frame[[1L]] <- quote(stats::model.frame)
    frame <- eval(frame, parent.frame())
    terms <- attr(frame, "terms")
    attr(terms, "intercept") <- 0L
    x <- model.matrix(terms, frame)
    factors <- match(names(attr(x, "contrasts")), attr(terms, "term.labels"))
    scale <- rep_len(scale, ncol(x)) & !attr(x, "assign") %in% factors
    object <- hinge.default(x, model.response(frame), scale = scale, ..., weights = model.weights(frame))
    object$call <- call
    object$terms <- terms
    object$xlevels <- .getXlevels(terms, frame)
    object$contrasts <- attr(x, "contrasts")
    object$na.action <- attr(frame, "na.action")
    object
}

hinge.default <- function(x, y = NULL, scale = TRUE, type = NULL, kernel = "radial", degree = 3, gamma = NULL,
                          coef0 = 0, cost = 1, nu = 0.5, class.weights = NULL, cachesize = 0, tolerance = 0.001,
                          epsilon = 0.1, tau = 0.5, shrinking = TRUE, cross = 0, probability = FALSE, fitted = TRUE,
                          weights = NULL, multiclass = "one-vs-one", threads = 0, seed = 0, ..., subset,
                          na.action = na.omit)
{
    if (...length() > 0)
        stop("no such argument: ", paste(names(list(...)), collapse = ", "))
    frame <- rows_of(numbers_of(x), y, weights, if (!missing(subset)) subset, na.action)
    kernel <- match.arg(kernel, names(kernels))
    target <- response_of(frame$y, type)
    precomputed <- kernel == "precomputed"
    if (precomputed && nrow(frame$x) != ncol(frame$x))
        stop("a precomputed kernel is a square matrix of the kernel's values of all rows")
    x.scale <- scale_of(frame$x, rep_len(scale, ncol(frame$x)) & !precomputed)
    y.scale <- scale_of(cbind(target$y), any(scale) && target$regresses && !precomputed)
    scaled <- rescaled(frame$x, x.scale)
    chosen <- list(
        degree = degree, gamma = if (is.null(gamma)) 1 / ncol(scaled) else gamma, coef0 = coef0, cost = cost, nu = nu,
        cachesize = cachesize, tolerance = tolerance, epsilon = epsilon, tau = tau, shrinking = shrinking,
        probability = probability, threads = threads, seed = seed)
    check_numbers(c(chosen, cross = cross))
    p <- c(chosen, class_weights_of(class.weights, target), list(
        task = types[[target$type]], kernel = kernels[[kernel]], weights = frame$weights,
        one.vs.rest = match.arg(multiclass, c("one-vs-one", "one-vs-rest")) == "one-vs-rest",
        factor = if (!precomputed) 1 / x.scale[[2]], offset = if (!precomputed) -x.scale[[1]] / x.scale[[2]]))
    y.scaled <- if (!is.null(target$y)) drop(rescaled(cbind(target$y), y.scale))
    object <- trained(scaled, y.scaled, p, list(
        call = `[[<-`(match.call(), 1L, quote(hinge)), type = target$type, kernel = kernel, levels = target$levels,
        x.scale = x.scale, y.scale = y.scale, n.features = ncol(scaled), names = colnames(scaled),
        one.vs.rest = p$one.vs.rest, na.action = attr(frame, "na.action")), chosen)
    if (cross > 0)
        object <- add(object, cross_rates(call_(.Call(hinge_validate_, scaled, y.scaled, p, cross)), target, y.scale))
    if (fitted) with_fitted(object, frame$x, target) else object
}

trained <- function(x, y, p, about, chosen)
{
    fit <- call_(.Call(hinge_train_, x, y, p))
    if (fit$outcome != "converged")
        warning("training ended early: ", fit$outcome, call. = FALSE)
    if (!is.null(fit$sigma))
        fit$sigma <- fit$sigma * about$y.scale[[2]]
    if (about$kernel != "precomputed")
        fit$SV <- x[fit$index, , drop = FALSE]
    structure(c(about, chosen, fit, tot.nSV = length(fit$index)), class = "hinge")
}

with_fitted <- function(object, x, target)
{
    fitted <- predicted(object, x, decision.values = !target$regresses)
    object$decision.values <- attr(fitted, "decision.values")
    object$fitted <- structure(fitted, decision.values = NULL)
    if (target$regresses)
        object$residuals <- target$y - fitted
    object
}

# Evaluates a call of hinge's; its errors name the arguments as they are called here.
call_ <- function(value)
    tryCatch(value, error = function(e) {
        said <- sub("^kernel\\.", "", conditionMessage(e))
        ours <- c(C = "cost", p = "epsilon", eps = "tolerance", class_weights = "class.weights")
        name <- sub(":.*", "", said)
        stop(if (name %in% names(ours)) sub(name, ours[[name]], said) else said, call. = FALSE)
    })

# ---- arguments ------------------------------------------------------------------------------------------------------

numbers_of <- function(x)
{
    x <- as.matrix(x)
    if (!is.numeric(x) && !is.logical(x))
        stop("x is not numeric; by a formula, hinge(y ~ ., data), factors become columns")
    storage.mode(x) <- "double"
    x
}

# A data frame of the rows that are trained on: x (a matrix), y, weights.
rows_of <- function(x, y, weights, subset, na.action)
{
    n <- nrow(x)
    if (!length(y) %in% c(0L, n) || !length(weights) %in% c(0L, n))
        stop("x has ", n, " rows, y ", length(y), " values and weights ", length(weights))
    if (!is.null(weights))
        weights <- as.double(weights)
    if (is.character(y) || is.logical(y))
        y <- factor(y)
    frame <- Filter(Negate(is.null), list(x = x, y = y, weights = weights))
    frame <- structure(frame, class = "data.frame", row.names = seq_len(n))
    na.action(if (is.null(subset)) frame else frame[subset, , drop = FALSE])
}

# What is to be learnt: the type; y, as codes of the levels or as values; levels of classes.
response_of <- function(y, type)
{
    if (is.null(type))
        type <- if (is.null(y)) "one-classification" else if (is.factor(y)) "C-classification" else "eps-regression"
    type <- match.arg(type, names(types))
    if (type == "one-classification")
        return(list(type = type, regresses = FALSE))
    if (is.null(y))
        stop(type, " needs y")
    if (grepl("regression", type)) {
        if (!is.numeric(y))
            stop(type, " needs a numeric y")
        return(list(type = type, y = as.double(y), regresses = TRUE))
    }
    y <- as.factor(y)
    list(type = type, y = as.double(as.integer(y)), levels = levels(y), regresses = FALSE)
}

check_numbers <- function(values)
{
    for (name in names(values)) {
        value <- values[[name]]
        flag <- name %in% c("shrinking", "probability")
        if (length(value) != 1 || is.na(value) || (if (flag) !is.logical(value) else !is.numeric(value)))
            stop(name, " is not ", if (flag) "TRUE or FALSE" else "a number", call. = FALSE)
        most <- if (name %in% c("cachesize", "threads", "seed", "degree", "cross")) .Machine$integer.max
        if (!is.null(most) && (value < 0 || value > most))
            stop(name, " is not in 0 .. ", most, call. = FALSE)
    }
}

# class.weights: by the names of levels, or "inverse" to their numbers of rows.
class_weights_of <- function(weights, target)
{
    if (is.null(weights))
        return(list())
    if (identical(weights, "inverse"))
        weights <- vapply(split(target$y, target$levels[target$y]), function(y) 1 / length(y), 0)
    codes <- match(names(weights), target$levels)
    if (!is.numeric(weights) || length(codes) == 0 || anyNA(codes))
        stop("class.weights are numbers named by classes, of ", paste(target$levels, collapse = ", "))
    list(class.weights = as.double(weights[codes > 0]), class.codes = as.double(codes))
}

# ---- scaling --------------------------------------------------------------------------------------------------------

# Center and scale of each column; 0 and 1 of those that are not to be scaled, or constant.
scale_of <- function(x, wanted)
{
    deviation <- if (is.null(x)) numeric() else apply(x, 2, sd)
    wanted <- wanted & !is.na(deviation) & deviation > 0
    list("scaled:center" = ifelse(wanted, colMeans(x), 0), "scaled:scale" = ifelse(wanted, deviation, 1))
}

rescaled <- function(x, scale) (x - rep(scale[[1]], each = nrow(x))) / rep(scale[[2]], each = nrow(x))

# ---- what comes out -------------------------------------------------------------------------------------------------

add <- function(object, more)
{
    object[names(more)] <- more
    object
}

cross_rates <- function(values, target, y.scale)
{
    if (!target$regresses)
        return(list(tot.accuracy = 100 * mean(values == if (is.null(target$y)) 1 else target$y)))
    values <- values * y.scale[[2]] + y.scale[[1]]
    list(tot.MSE = mean((values - target$y)^2), scorrcoeff = cor(values, target$y)^2)
}

# The names of the two-class problems.
problems_of <- function(object)
{
    classes <- object$levels[object$labels]
    if (length(classes) < 2)
        return(NULL)
    if (object$one.vs.rest && length(classes) > 2)
        return(classes)
    pairs <- combn(classes, 2)
    paste(pairs[1, ], pairs[2, ], sep = "/")
}

# Predictions of rows that are complete.
predicted <- function(object, x, decision.values = FALSE, probability = FALSE)
{
    regresses <- grepl("regression", object$type)
    got <- if (!probability || decision.values || regresses)
        call_(.Call(hinge_predict_, object$model, x, FALSE, object$threads))
    sure <- if (probability && !regresses)
        call_(.Call(hinge_predict_, object$model, x, TRUE, object$threads))
    labels <- if (is.null(sure)) got$labels else sure$labels
    names <- list(rownames(x), problems_of(object))
    value <- if (regresses)
        labels * object$y.scale[[2]] + object$y.scale[[1]]
    else if (is.null(object$levels))
        labels > 0
    else
        factor(object$levels[labels], levels = object$levels)
    names(value) <- rownames(x)
    if (decision.values)
        attr(value, "decision.values") <-
            if (regresses) cbind(value) else matrix(t(got$values), nrow(x), dimnames = names)
    names[[2]] <- if (is.null(object$levels)) c("TRUE", "FALSE") else object$levels[object$labels]
    if (!is.null(sure))
        attr(value, "probabilities") <- matrix(t(sure$values), nrow(x), dimnames = names)
    value
}

predict.hinge <- function(object, newdata, decision.values = FALSE, probability = FALSE, ..., na.action = na.omit)
{
    if (missing(newdata))
        return(fitted(object))
    if (probability && !object$probability)
        stop("the model was trained without probability = TRUE")
    if (is.null(object$terms)) {
        if (is.null(dim(newdata)) && object$n.features > 1)
            newdata <- matrix(newdata, 1)
        x <- numbers_of(newdata)
        frame <- na.action(structure(list(x = x), class = "data.frame", row.names = seq_len(nrow(x))))
        x <- frame$x
    } else {
        terms <- delete.response(object$terms)
        frame <- model.frame(terms, newdata, na.action = na.action, xlev = object$xlevels)
        .checkMFClasses(attr(terms, "dataClasses"), frame)
        x <- model.matrix(terms, frame, contrasts.arg = object$contrasts)
    }
    if (ncol(x) != object$n.features)
        stop("newdata has ", ncol(x), " columns, the model ", object$n.features)
    value <- predicted(object, x, decision.values, probability)
    act <- attr(frame, "na.action")
    result <- napredict(act, value)
    for (name in setdiff(names(attributes(value)), names(attributes(result))))
        attr(result, name) <- napredict(act, attr(value, name))
    result
}

coef.hinge <- function(object, ...)
{
    if (object$kernel != "linear")
        stop("a kernel that is not linear has no weights of features")
    w <- .Call(hinge_weights_, object$model, object$n.features) / object$x.scale[[2]] * object$y.scale[[2]]
    intercept <- -object$rho * object$y.scale[[2]] - drop(crossprod(w, object$x.scale[[1]])) + object$y.scale[[1]]
    w <- rbind(intercept, w)
    dimnames(w) <- list(c("(Intercept)", object$names), problems_of(object))
    if (ncol(w) == 1) w[, 1] else w
}

print.hinge <- function(x, ...)
{
    cat("\nCall:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
    used <- c(cost = !x$type %in% c("nu-classification", "one-classification"),
              nu = x$type %in% c("nu-classification", "one-classification", "nu-regression"),
              epsilon = x$type == "eps-regression", tau = x$type == "quantile-regression",
              degree = x$kernel == "polynomial", gamma = !x$kernel %in% c("linear", "precomputed", "tanimoto"),
              coef0 = x$kernel %in% c("polynomial", "sigmoid"))
    shown <- c(type = x$type, kernel = x$kernel, vapply(x[names(used)[used]], format, ""))
    cat("Parameters:\n", sprintf("%10s:  %s\n", names(shown), shown), "\n", sep = "")
    cat("Number of Support Vectors:  ", x$tot.nSV, "\n\n", sep = "")
    invisible(x)
}

summary.hinge <- function(object, ...) structure(object, class = c("summary.hinge", "hinge"))

print.summary.hinge <- function(x, ...)
{
    print.hinge(x)
    if (!is.null(x$levels))
        cat("of classes ", paste(x$levels[x$labels], x$nSV, sep = ": ", collapse = ", "), "\n\n", sep = "")
    cat("Training:  ", x$outcome, ", objective ", format(x$objective), ", ", format(x$seconds, digits = 3), " s, ",
        x$path, "\n", sep = "")
    rates <- c(tot.accuracy = "Accuracy (percent)", tot.MSE = "Mean squared error",
               scorrcoeff = "Squared correlation coefficient")
    for (name in intersect(names(rates), names(x)))
        cat(rates[[name]], " of cross-validation:  ", format(x[[name]]), "\n", sep = "")
    if (!is.null(x$sigma))
        cat("Laplace width of errors:  ", format(x$sigma), "\n", sep = "")
    invisible(x)
}
