/*
 * Command lines and the numbers in them: the lines of an input are the arguments of hinge train or hinge scale (the
 * first one says which). Parameters that are accepted train on a handful of rows. Each argument is also read as a
 * number by the library and by the C library.
 */
#include "tool.h"

#include "lib/files/number.h"

#include "tools/common.c"
#include "tools/system_posix.c"
#include "tools/data.c"
#undef FIELD
#include "tools/options.c"
#include "tools/train_online.c"
#include "tools/progress.c"
#include "tools/ranges.c"
#include "tools/train_report.c"
#include "tools/train_targets.c"
#define read_options read_train_options
#include "tools/cmd_train.c"
#undef FIELD
#undef read_options
#define scale_options scale_command_options
#define usage scale_usage
#include "tools/cmd_scale.c"

enum { MAX_ARGUMENTS = 64 };

struct line {
    int argc;
    char *argv[MAX_ARGUMENTS + 1];
    bool scale;
};

void restart_if_slow(int allowed, int verbose)
{
    (void)allowed, (void)verbose;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int stop_soon(void *arg, const hinge_progress *progress)
{
    (void)arg;
    return progress->rounds > 20;
}

/* Six rows of two features, or a kernel matrix of six. */
static void train_briefly(const struct train_settings *s)
{
    static const double x[] = { 0, 0, 1, 0, 0, 1, 1, 1, 2, 1, 1, 2 }, y[] = { 1, 1, -1, 1, -1, -1 };
    double gram[36], labels[6];
    hinge_params params = s->params;
    hinge_matrix matrix = hinge_matrix_f64(x, 6, 2);
    hinge_model *model = NULL;
    hinge_report report;
    hinge_error err;

    for (size_t i = 0; i < 36; i++)
        gram[i] = x[i / 6 * 2] * x[i % 6 * 2] + x[i / 6 * 2 + 1] * x[i % 6 * 2 + 1];
    if (params.kernel.type == HINGE_PRECOMPUTED)
        matrix = hinge_matrix_f64(gram, 6, 6);
    params.threads = params.threads > 2 ? 2 : params.threads;
    if (s->online.solver != 0) {
        struct online online = s->online;
        hinge_data data = { .x = matrix, .y = (double *)y };
        online.epochs = online.epochs > 20 ? 20 : online.epochs;
        model = online_train(&online, &data, "six", &params); /* or it ends by exit, where w is not finite */
        CHECK(hinge_predict(model, &matrix, NULL, labels, NULL, &err) == HINGE_OK && online.objective >= 0);
        hinge_model_free(model);
        return;
    }
    params.time_limit = params.time_limit > 0.1 || params.time_limit == 0 ? 0.1 : params.time_limit;
    params.max_iter = params.max_iter > 1000 || params.max_iter == 0 ? 1000 : params.max_iter;
    params.progress = stop_soon;
    hinge_status status = hinge_train(&model, &matrix, y, &params, &report, &err);
    fuzz_check_error(status, &err);
    CHECK((model != NULL) == (status == HINGE_OK));
    if (status == HINGE_OK) {
        CHECK(hinge_predict(model, &matrix, NULL, labels, NULL, &err) == HINGE_OK);
        for (size_t i = 0; i < hinge_model_n_problems(model); i++)
            CHECK(isfinite(hinge_model_rho(model)[i]) || report.outcome == HINGE_NONFINITE);
    }
    hinge_model_free(model);
}

static void read_command(void *arg)
{
    struct line *line = arg;

    if (line->scale) {
        struct scale_settings s = { .ranges = { .x = { .lower = -1, .upper = 1 } } };
        const char *path;
        read_options(line->argc, line->argv, &s, &path);
        CHECK(path != NULL && s.ranges.x.lower < s.ranges.x.upper);
        CHECK(!s.ranges.scale_y || s.ranges.y_to.low < s.ranges.y_to.high);
    } else {
        struct train_settings s = { 0 };
        read_train_options(line->argc, line->argv, &s);
        const hinge_params *p = &s.params;
        CHECK(s.data_path != NULL && p->C > 0 && p->eps > 0 && p->nu > 0 && p->nu <= 1 && p->p >= 0);
        CHECK(p->kernel.degree >= 0 && isfinite(p->kernel.coef0));
        CHECK(p->kernel.gamma >= 0 || p->kernel.gamma == HINGE_GAMMA_AUTO);
        CHECK(p->threads >= 0 && p->cpu_level >= 0 && p->cpu_level <= 4);
        for (size_t k = 0; k < p->n_class_weights; k++)
            CHECK(isfinite(p->class_labels[k]) && p->class_weights[k] >= 0);
        train_briefly(&s);
    }
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void check_format(double value)
{
    char buffer[HG_NUMBER_ROOM], text[40];
    size_t length = hg_format_double(buffer, value);
    double back;
    CHECK(length <= sizeof buffer && hg_parse_double(buffer, buffer + length, &back) == buffer + length);
    CHECK(isnan(value) ? isnan(back) : memcmp(&back, &value, sizeof back) == 0);
    memcpy(text, buffer, length);
    text[length] = '\0';
    back = strtod(text, NULL);
    CHECK(isnan(value) ? isnan(back) : memcmp(&back, &value, sizeof back) == 0);
}

/* The C library skips blanks before a number, and reads "nan(...)". */
static void check_number(const char *text)
{
    const char *end = text + strlen(text), *stop;
    char *c_stop;
    double value = 0, c_value = strtod(text, &c_stop);
    size_t size = 0;

    if (strchr(" \t\n\v\f\r", *text) != NULL)
        return;
    stop = hg_parse_double(text, end, &value);
    if (stop == NULL) {
        CHECK(c_stop == text);
    } else if (isnan(c_value)) {
        CHECK(isnan(value) && c_stop >= stop);
    } else {
        CHECK(c_stop == stop && memcmp(&value, &c_value, sizeof value) == 0);
        check_format(value);
    }
    stop = hg_parse_size(text, end, &size);
    CHECK(stop == NULL || (stop > text && *text >= '0' && *text <= '9' && size == strtoull(text, NULL, 10)));
}

bool fuzz_one(const uint8_t *bytes, size_t size)
{
    char *text = (malloc)(size + 1);
    struct line line = { .argc = 0 };
    double value;

    CHECK(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (size >= sizeof value) {
        memcpy(&value, bytes, sizeof value);
        check_format(value);
    }
    for (char *p = text; p != NULL && line.argc < MAX_ARGUMENTS;) {
        char *next = strchr(p, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (next == NULL && *p == '\0')
            break;
        line.argv[line.argc++] = p;
        check_number(p);
        p = next;
    }
    if (line.argc == 0)
        line.argv[line.argc++] = text;
    line.scale = strcmp(line.argv[0], "scale") == 0;
    optind = 0; /* getopt begins anew */
    bool accepted = tool_run(read_command, &line);
    (free)(text);
    return accepted;
}
