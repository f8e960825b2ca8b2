/*
 * Model files, LIBSVM's text, by the parts of body.h: written to a file, to the caller's function or into memory, and
 * read from either. header.c says what stands in them.
 */
#include "lib/files/body.h"
#include "lib/files/number.h"

#include <hinge/io.h>

static hinge_status print_model(const struct hinge_model *model, hg_text_sink sink, void *sink_arg, hinge_error *err)
{
    struct hg_text header = { 0 };
    hg_header_print(model, &header);
    hg_told_print(model, &header);
    hinge_status status = header.no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for the model's text")
                                           : sink(sink_arg, header.data, header.size, err);
    hg_text_free(&header);
    return status == HINGE_OK ? hg_vectors_print(model, sink, sink_arg, err) : status;
}

hinge_status hinge_model_save(const hinge_model *model, const char *path, hinge_error *err)
{
    struct hg_output output;
    if (model == NULL || path == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or path: NULL");
    HG_TRY(hg_output_open(&output, path, err));
    hinge_status status = print_model(model, hg_output_write, &output, err);
    status = hg_output_close(&output, status, err);
    return status == HINGE_OK ? hg_ok(err) : status;
}

struct writing { /* by the caller's function */
    hinge_write_fn write;
    void *arg;
};

static hinge_status hand_over(void *arg, const char *bytes, size_t size, hinge_error *err)
{
    const struct writing *w = arg;
    return w->write(w->arg, bytes, size) == 0 ? HINGE_OK
                                              : hg_fail(err, HINGE_ECALLBACK, "write: the function ended the writing");
}

hinge_status hinge_model_write(const hinge_model *model, hinge_write_fn write, void *arg, hinge_error *err)
{
    if (model == NULL || write == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or write: NULL");
    hinge_status status = print_model(model, hand_over, &(struct writing){ write, arg }, err);
    return status == HINGE_OK ? hg_ok(err) : status;
}

static hinge_status append(void *arg, const char *bytes, size_t size, hinge_error *err)
{
    struct hg_text *text = arg;
    hg_text_add(text, bytes, size);
    return text->no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for the model's text") : HINGE_OK;
}

/* Prints the model into memory that grows; *bytes is the caller's, freed by hinge_free. */
hinge_status hinge_model_format(const hinge_model *model, char **bytes, size_t *size, hinge_error *err)
{
    struct hg_text text = { 0 };
    if (model == NULL || bytes == NULL || size == NULL)
        return hg_fail(err, HINGE_EINVAL, "model, bytes or size: NULL");
    hinge_status status = print_model(model, append, &text, err);
    if (status != HINGE_OK) {
        hg_text_free(&text);
        return status;
    }
    *bytes = text.data;
    *size = text.size;
    return hg_ok(err);
}

/* Reads the two parts, frees the text, and derives the rest; the model begins all 0, and is freed on failure. */
static hinge_status parse(hinge_model **model, const char *name, struct hg_bytes *bytes, const hinge_kernel *user,
                          hinge_error *err)
{
    struct hg_body body;
    hinge_model *m;
    HG_TRY(HG_MAKE(err, "a model", HG_ZEROS(m, 1)));
    hinge_status status = hg_header_read(m, name, bytes, true, user, &body, err);
    HG_THEN(status, hg_body_read(&body, m, err));
    hg_bytes_free(bytes);
    HG_THEN(status, hg_model_settle_parts(m, name, err));
    HG_THEN(status, hg_model_finish(m, 1, err));
    if (status == HINGE_OK)
        *model = m;
    else
        hinge_model_free(m);
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_model_load(hinge_model **model, const char *path, const hinge_kernel *user, hinge_error *err)
{
    struct hg_bytes bytes = { 0 };
    if (model == NULL || path == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or path: NULL");
    hinge_status status = hg_bytes_read(&bytes, path, err);
    HG_THEN(status, parse(model, path, &bytes, user, err));
    hg_bytes_free(&bytes);
    return status;
}

hinge_status hinge_model_parse(hinge_model **model, const char *name, const void *memory, size_t size,
                               const hinge_kernel *user, hinge_error *err)
{
    struct hg_bytes bytes = { 0 };
    if (model == NULL || name == NULL || (memory == NULL && size > 0))
        return hg_fail(err, HINGE_EINVAL, "model, name or bytes: NULL");
    hinge_status status = hg_bytes_unpack(&bytes, name, memory, size, err);
    HG_THEN(status, parse(model, name, &bytes, user, err));
    hg_bytes_free(&bytes);
    return status;
}
