# Decision values, votes, conditions of optimality, rates and refusals: plain loops, and what follows by hand.
Sys.setenv(LANGUAGE = "en")
library(hinge)
near <- function(a, b, room = 1e-6) max(abs(a - b)) <= room * max(1, abs(b))
refused <- function(words, expression) {
    said <- tryCatch({ expression; "nothing" }, error = conditionMessage)
    if (!grepl(words, said, fixed = TRUE))
        stop("not refused by '", words, "': ", said)
}

kernel <- function(m, a, b) {
    g <- m$gamma
    of <- switch(m$kernel,
        linear = function(u, v) sum(u * v),
        polynomial = function(u, v) (g * sum(u * v) + m$coef0)^m$degree,
        radial = function(u, v) exp(-g * sum((u - v)^2)),
        sigmoid = function(u, v) tanh(g * sum(u * v) + m$coef0),
        matern32 = function(u, v) { r <- sqrt(g * sum((u - v)^2)); (1 + r) * exp(-r) },
        matern52 = function(u, v) { r <- sqrt(g * sum((u - v)^2)); (1 + r + r^2 / 3) * exp(-r) },
        laplacian = function(u, v) exp(-g * sum(abs(u - v))),
        chi2 = function(u, v) exp(-g * sum((u - v)^2 / (u + v))),
        tanimoto = function(u, v) sum(pmin(u, v)) / sum(pmax(u, v)))
    apply(b, 1, function(v) apply(a, 1, function(u) of(u, v)))
}

x <- as.matrix(iris[, 1:4])
rownames(x) <- 1:150
center <- colMeans(x)
deviation <- apply(x, 2, sd)
z <- t((t(x) - center) / deviation)
few <- seq(1, 150, 5)

# each type and kernel: decision values and votes
for (name in c("linear", "polynomial", "radial", "sigmoid", "matern32", "matern52", "laplacian", "chi2", "tanimoto")) {
    counts <- name %in% c("chi2", "tanimoto")
    data <- if (counts) x else z
    for (type in c("C-c", "nu-c", "one", "eps", "nu-r", "quantile")) {
        if (name == "sigmoid" && type == "nu-c")
            next # no margin
        classes <- type %in% c("C-c", "nu-c")
        y <- if (classes) iris$Species else if (type == "one") NULL else x[, 1]
        m <- hinge(x, y, scale = !counts, type = type, kernel = name, gamma = 0.3, coef0 = 1, nu = 0.3)
        stopifnot(m$outcome == "converged", near(m$SV, data[m$index, ]), m$tot.nSV == nrow(m$coefs))
        p <- predict(m, x[few, ], decision.values = TRUE)
        k <- t(kernel(m, m$SV, data[few, ]))
        stopifnot(names(p) == few, near(as.numeric(p), as.numeric(fitted(m)[few]), 2e-4))
        if (!classes) {
            f <- k %*% m$coefs - m$rho
            if (type != "one")
                stopifnot(near(p, if (counts) f else f * deviation[1] + center[1], 2e-4),
                          near(m$residuals + fitted(m), y))
            else
                stopifnot(near(attr(p, "decision.values"), f, 2e-4), p == (attr(p, "decision.values") > 0))
            next
        }
        start <- cumsum(c(0, m$nSV))
        votes <- matrix(0, length(few), 3)
        at <- 0
        for (i in 1:2) for (j in (i + 1):3) {
            at <- at + 1
            of.i <- start[i] + seq_len(m$nSV[i])
            of.j <- start[j] + seq_len(m$nSV[j])
            f <- k[, of.i, drop = FALSE] %*% m$coefs[of.i, j - 1] +
                k[, of.j, drop = FALSE] %*% m$coefs[of.j, i] - m$rho[at]
            got <- attr(p, "decision.values")[, paste(levels(y)[m$labels[c(i, j)]], collapse = "/")]
            stopifnot(near(got, f, 2e-4 * max(1, abs(m$rho))))
            votes[, i] <- votes[, i] + (got > 0)
            votes[, j] <- votes[, j] + (got <= 0)
        }
        stopifnot(p == levels(y)[m$labels[max.col(votes, "first")]])
    }
}

# conditions of optimality: weights of classes and of rows
two <- iris[51:150, ]
two$Species <- factor(two$Species)
w <- 1 + (1:100) / 50
m <- hinge(Species ~ ., two, weights = w, cost = 2, class.weights = c(virginica = 3), tolerance = 1e-5)
z <- scale(as.matrix(two[, 1:4]))
alpha <- numeric(100)
alpha[m$index] <- abs(m$coefs)
s <- ifelse(two$Species == m$levels[m$labels[1]], 1, -1)
bound <- 2 * w * ifelse(two$Species == "virginica", 3, 1)
gradient <- kernel(m, z, z) %*% (alpha * s) - s
up <- ifelse(s > 0, alpha < bound * (1 - 1e-12), alpha > 0)
down <- ifelse(s < 0, alpha < bound * (1 - 1e-12), alpha > 0)
stopifnot(alpha <= bound * (1 + 1e-12), abs(sum(alpha * s)) < 1e-9, max(gradient[down]) - min(gradient[up]) <= 1.01e-5)
inverse <- hinge(Species ~ ., iris[c(1:20, 51:100), ], class.weights = "inverse")
named <- hinge(Species ~ ., iris[c(1:20, 51:100), ], class.weights = c(setosa = 1 / 20, versicolor = 1 / 50))
stopifnot(identical(inverse$coefs, named$coefs))

# a formula is its matrix; factors are not scaled; levels of new data; transformations
a <- hinge(Species ~ ., iris)
b <- hinge(iris[, 1:4], iris$Species)
stopifnot(identical(a$coefs, b$coefs), identical(unname(predict(a, iris)), unname(predict(b, x))))
m <- hinge(Sepal.Length ~ Species + log(Petal.Length), iris, kernel = "linear")
stopifnot(m$x.scale[[2]][1:3] == 1, m$x.scale[[2]][4] == sd(log(iris$Petal.Length)),
          near(predict(m, iris[101, ]), fitted(m)[101]))

# weights of features, in units of the data
by.hand <- function(m, x) drop(cbind(1, x) %*% coef(m))
stopifnot(near(by.hand(m, model.matrix(~ Species + log(Petal.Length) - 1, iris)), fitted(m), 1e-4))
m <- hinge(x, iris$Species, kernel = "linear")
stopifnot(near(cbind(1, x) %*% coef(m), m$decision.values, 1e-3), dim(coef(m)) == c(5, 3))
m <- hinge(x, iris$Species, kernel = "linear", multiclass = "one-vs-rest")
stopifnot(near(cbind(1, x) %*% coef(m), m$decision.values, 1e-3), colnames(m$decision.values) == levels(iris$Species),
          fitted(m) == levels(iris$Species)[max.col(m$decision.values)])

# missing values
air <- airquality
whole <- complete.cases(air)
m <- hinge(Ozone ~ ., air)
n <- hinge(Ozone ~ ., air, na.action = na.exclude)
stopifnot(length(fitted(m)) == sum(whole), is.na(fitted(n)) == !whole, near(fitted(n)[whole], fitted(m)),
          is.na(residuals(n)) == !whole)
p <- predict(n, air, na.action = na.exclude, decision.values = TRUE)
other <- complete.cases(air[-1])
stopifnot(is.na(p) == !other, is.na(attr(p, "decision.values")) == !other, length(predict(m, air)) == sum(other))
k <- hinge(as.matrix(air[-1]), air$Ozone, na.action = na.exclude)
stopifnot(near(fitted(k)[whole], fitted(m)))
refused("missing values", hinge(Ozone ~ ., air, na.action = na.fail))

# a precomputed kernel; subsets; bytes of a file; probabilities; a width; cross-validation; saved and read
k <- tcrossprod(x)
m <- hinge(k, iris$Species, kernel = "precomputed")
n <- hinge(x, iris$Species, kernel = "linear", scale = FALSE)
stopifnot(near(m$decision.values, n$decision.values, 1e-2), predict(m, k[few, ]) == fitted(m)[few])
stopifnot(identical(hinge(x, iris$Species, subset = few)$coefs, hinge(x[few, ], iris$Species[few])$coefs))
m <- hinge(Species ~ ., iris, probability = TRUE, cross = 5, cost = 10)
p <- predict(m, iris, probability = TRUE)
q <- attr(p, "probabilities")
stopifnot(near(rowSums(q), 1), p == colnames(q)[max.col(q, "first")], m$tot.accuracy > 90, m$tot.accuracy < 100)
file <- tempfile()
saveRDS(m, file)
stopifnot(identical(predict(readRDS(file), iris, probability = TRUE), p))
m <- hinge(dist ~ speed, cars, probability = TRUE, cross = 10)
stopifnot(m$sigma > 5, m$sigma < 20, m$tot.MSE > 100, m$tot.MSE < 400, m$scorrcoeff > 0.5)
m <- hinge(x[1:50, ], nu = 0.1, probability = TRUE, cross = 5)
stopifnot(mean(fitted(m)) > 0.7, !predict(m, x[51:150, ]), colnames(attr(predict(m, x, probability = TRUE),
          "probabilities")) == c("TRUE", "FALSE"))
m <- hinge(dist ~ speed, cars, type = "quantile", tau = 0.8, cost = 100, tolerance = 1e-6)
stopifnot(abs(mean(cars$dist <= fitted(m) + 1e-3) - 0.8) < 0.1)
m <- hinge(x, factor(rep("only", 150)))
stopifnot(fitted(m) == "only", m$tot.nSV == 0)
text <- capture.output(print(summary(a)))
stopifnot(any(grepl("setosa: 8", text)), any(grepl("converged", text)), any(grepl("gamma:  0.25", text)))

refused("not numeric", hinge(iris))
refused("cost: -1 is not", hinge(x, iris$Species, cost = -1))
refused("epsilon: -1", hinge(x, x[, 1], epsilon = -1))
refused("tolerance: -1", hinge(x, x[, 1], tolerance = -1))
refused("cost is not a number", hinge(x, iris$Species, cost = "1"))
refused("shrinking is not TRUE", hinge(x, iris$Species, shrinking = 2))
refused("seed is not in", hinge(x, iris$Species, seed = -1))
refused("no such argument: costs", hinge(x, iris$Species, costs = 1))
refused("folds: 1", hinge(x, iris$Species, cross = 1))
refused("infeasible", hinge(x[1:60, ], iris$Species[1:60], type = "nu-classification", nu = 0.9))
refused("needs a numeric y", hinge(x, iris$Species, type = "eps-regression"))
refused("150 rows, y 3", hinge(x, 1:3))
refused("named by classes", hinge(x, iris$Species, class.weights = c(a = 1)))
refused("square matrix", hinge(x, iris$Species, kernel = "precomputed"))
refused("3 columns, the model 4", predict(b, x[, 1:3]))
refused("without probability", predict(b, x, probability = TRUE))
refused("not linear", coef(b))
refused("is inf", hinge(x / 0, iris$Species, scale = FALSE))
refused("new level", predict(hinge(Sepal.Length ~ Species, iris), data.frame(Species = "rosa")))
