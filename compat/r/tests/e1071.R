# Models and predictions of e1071, where it is installed.
library(hinge)
if (requireNamespace("e1071", quietly = TRUE)) {
    near <- function(a, b, room) stopifnot(max(abs(a - b)) <= room)
    air <- na.omit(airquality)
    for (kernel in c("linear", "polynomial", "radial"))
        for (type in c("C-classification", "nu-classification", "one-classification", "eps-regression",
                       "nu-regression")) {
            classes <- grepl("-classification", type)
            arguments <- list(
                formula = if (type == "one-classification") ~ . else if (classes) Species ~ . else Ozone ~ .,
                data = if (type == "one-classification") iris[1:4] else if (classes) iris else air, type = type,
                kernel = kernel, nu = 0.3, coef0 = 1, tolerance = 1e-6, scale = type != "one-classification")
            ours <- do.call(hinge, arguments)
            theirs <- do.call(e1071::svm, arguments)
            a <- predict(ours, arguments$data, decision.values = TRUE)
            b <- predict(theirs, arguments$data, decision.values = TRUE)
            f <- attr(a, "decision.values")
            g <- attr(b, "decision.values")
            if (classes)
                near(f, g, 2e-3 * max(1, abs(ours$rho)))
            if (type != "one-classification" && classes)
                stopifnot(identical(colnames(f), colnames(g)), mean(a == b) > 0.98)
            if (!classes)
                near(a, b, 2e-4 * sd(air$Ozone) * max(1, abs(ours$rho)))
        }
    weights <- c(setosa = 2, virginica = 0.5)
    near(hinge(Species ~ ., iris, class.weights = weights, tolerance = 1e-6)$decision.values,
         attr(predict(e1071::svm(Species ~ ., iris, class.weights = weights, tolerance = 1e-6), iris,
                      decision.values = TRUE), "decision.values"), 2e-4)
    mixed <- transform(iris, Wide = factor(Sepal.Width > 3))
    near(predict(hinge(Sepal.Length ~ ., mixed, tolerance = 1e-6)),
         predict(e1071::svm(Sepal.Length ~ ., mixed, tolerance = 1e-6)), 1e-3)
    linear <- list(Sepal.Length ~ Petal.Length, iris, kernel = "linear", scale = FALSE, tolerance = 1e-6)
    near(coef(do.call(hinge, linear)), coef(do.call(e1071::svm, linear)), 1e-3)
}
