// The same from C++: every public header, a model held by unique_ptr; two points, f(x) by hand as in use.c.
#include <hinge/hinge.h>
#include <hinge/io.h>
#include <hinge/qp.h>
#include <hinge/theory.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

struct discard {
    void operator()(hinge_model *model) const { hinge_model_free(model); }
};

std::unique_ptr<hinge_model, discard> train(const std::vector<double> &points, const std::vector<double> &labels,
                                            const hinge_params &params)
{
    hinge_matrix x = hinge_matrix_f64(points.data(), points.size(), 1);
    hinge_model *model = nullptr;
    hinge_error err;
    if (hinge_train(&model, &x, labels.data(), &params, nullptr, &err) != HINGE_OK)
        throw std::runtime_error(err.text);
    return std::unique_ptr<hinge_model, discard>(model);
}

double decision(const hinge_model &model, double at)
{
    hinge_matrix z = hinge_matrix_f64(&at, 1, 1);
    hinge_error err;
    double f = 0;
    if (hinge_predict(&model, &z, nullptr, nullptr, &f, &err) != HINGE_OK)
        throw std::runtime_error(err.text);
    return hinge_model_labels(&model)[0] > 0 ? f : -f;
}

} // namespace

int main()
{
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    const double gamma = 0.3;
    params.kernel = hinge_kernel_rbf(gamma);
    params.C = 1000;
    params.eps = 1e-6;
    auto model = train({ -1, 1 }, { -1, 1 }, params);
    double f = decision(*model, 0.5);
    double by_hand = (std::exp(-gamma * 0.25) - std::exp(-gamma * 2.25)) / (1 - std::exp(-4 * gamma));
    std::printf("f(0.5) = %.9g, by hand %.9g\n", f, by_hand);
    std::printf("hinge %s, %s\n", hinge_version(), hinge_machine_info().blas);

    params.C = -1;
    try {
        train({ -1, 1 }, { -1, 1 }, params);
        return 1;
    } catch (const std::runtime_error &refused) {
        std::printf("refused: %s\n", refused.what());
    }
    return std::fabs(f - by_hand) <= 1e-5 * by_hand ? 0 : 1;
}
