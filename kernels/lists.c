/* Lists and panels: how they are laid out and filled (panel.h). */
#include "kernels/panel.h"

size_t hg_lists_lay_out(struct hg_lists *lists, size_t count, size_t d, hinge_dtype type, char *base)
{
    size_t at = 0;
    lists->stretches = HG_MAX((d + HG_STRETCH - 1) / HG_STRETCH, (size_t)1);
    lists->capacity = d;
    lists->end = hg_take(base, &at, count * lists->stretches * sizeof(uint32_t));
    lists->at = hg_take(base, &at, count * d * sizeof(uint32_t));
    lists->value = hg_take(base, &at, count * d * hg_size_of(type));
    return at;
}

void hg_lists_set(struct hg_lists *lists, size_t r, const void *vector, size_t d, hinge_dtype type)
{
    size_t filled = r * lists->capacity, width = hg_panel_cols(type);
    const float *v32 = vector;
    const double *v64 = vector;
    for (size_t s = 0; s < lists->stretches; s++) {
        for (size_t k = s * HG_STRETCH; k < HG_MIN(d, (s + 1) * HG_STRETCH); k++) {
            lists->at[filled] = (uint32_t)(k * width); /* overwritten by the next where the value is 0 */
            if (type == HINGE_F32) {
                ((float *)lists->value)[filled] = v32[k];
                filled += v32[k] != 0;
            } else {
                ((double *)lists->value)[filled] = v64[k];
                filled += v64[k] != 0;
            }
        }
        lists->end[r * lists->stretches + s] = (uint32_t)filled;
    }
}

void hg_panel_set(void *panel, const void *vectors, size_t ld, size_t count, size_t d, hinge_dtype type)
{
    enum { AT_ONCE = 16 }; /* features: what is read and what is written stays in L1 */
    size_t width = hg_panel_cols(type);
    for (size_t k0 = 0; k0 < d; k0 += AT_ONCE) {
        size_t end = HG_MIN(d, k0 + AT_ONCE);
        for (size_t c = 0; c < width; c++)
            for (size_t k = k0; k < end; k++) {
                if (type == HINGE_F32)
                    ((float *)panel)[k * width + c] = c < count ? ((const float *)vectors)[c * ld + k] : 0;
                else
                    ((double *)panel)[k * width + c] = c < count ? ((const double *)vectors)[c * ld + k] : 0;
            }
    }
}

/* Measured on Zen 4 in ns an entry: lists 0.031 a non-zero (0.04 where a vector has several stretches), GEMM 0.0255 a
 * feature and 0.25 for its packing and one more pass over the tile; twice that each in f64, and for lists on vectors
 * shorter than AVX's. */
bool hg_lists_win(double nonzeros, size_t d, hinge_dtype type, int level)
{
    double lists = (d <= HG_STRETCH ? 0.031 : 0.04) * nonzeros, gemm = 0.0255 * (double)d;
    if (type == HINGE_F64)
        lists *= 2, gemm *= 2;
    if (level < 3)
        lists *= 3;
    return d <= UINT32_MAX / HG_PANEL_BYTES && nonzeros > 0 && lists <= gemm + 0.25;
}
