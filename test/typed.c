/* Sets of whole numbers, and sets in each type of data (typed.h). */
#include "test/typed.h"
#include "lib/base/base.h"

#include <math.h>

const hinge_dtype types[TYPES] = { HINGE_F32, HINGE_F64, HINGE_U8, HINGE_I8, HINGE_F16 };

struct set set_on_grid(uint64_t seed, size_t n, size_t d, double origin, double step, unsigned levels)
{
    struct set s = set_new(n, d);
    for (size_t i = 0; i < n * d; i++)
        s.x[i] = origin + (double)(i < levels ? i : draw(&seed) % levels) * step;
    for (size_t i = 0; i < n; i++) {
        double side = 0;
        for (size_t f = 0; f < d; f++)
            side += (s.x[i * d + f] - origin) / step * (f % 2 ? 1 : -1);
        s.y[i] = side + (double)levels * draw_normal(&seed) > (d % 2 ? -(double)levels / 2 : 0) ? 1 : -1;
    }
    return s;
}

hinge_matrix set_typed(const struct set *s, hinge_dtype type, bool columns)
{
    size_t stride = columns ? s->n + 2 : s->d + 3, size = hg_size_of(type);
    char *data = get((columns ? s->d : s->n) * stride, size);
    for (size_t i = 0; i < s->n; i++)
        for (size_t f = 0; f < s->d; f++) {
            char *to = data + (columns ? f * stride + i : i * stride + f) * size;
            double v = s->x[i * s->d + f];
            if (type == HINGE_U8)
                *(uint8_t *)to = (uint8_t)v;
            else if (type == HINGE_I8)
                *(int8_t *)to = (int8_t)v;
            else if (type == HINGE_F32)
                *(float *)(void *)to = (float)v;
            else if (type == HINGE_F64)
                *(double *)(void *)to = v;
            else { /* of whole numbers below 2048 and their negatives, and of halves of those */
                int exponent;
                double m = frexp(fabs(v), &exponent);
                unsigned fraction = (unsigned)(m * 2048) & 1023U;
                uint16_t bits = (uint16_t)(v == 0 ? 0 : (unsigned)(exponent + 14) << 10 | fraction);
                bits |= v < 0 ? 0x8000 : 0;
                memcpy(to, &bits, sizeof bits);
            }
        }
    return (hinge_matrix){ data, type, s->n, s->d, stride, columns ? HINGE_COLUMN_MAJOR : HINGE_ROW_MAJOR };
}
