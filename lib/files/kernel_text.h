/* Kernels as text: sums of products of kernels on groups of columns. kernel_text.c has the grammar. */
#ifndef HG_KERNEL_TEXT_H
#define HG_KERNEL_TEXT_H

#include "lib/files/bytes.h"

/* Reads text [text, end) into parts, the caller's to be freed by hg_free, and a combined kernel of them, also where it
 * has one part only. EINVAL: it is no kernel, and says where. */
hinge_status hg_kernel_read(const char *text, const char *end, hinge_kernel *kernel, hinge_kernel_part **parts,
                            hinge_error *err);
/* Appends the text of a kernel, which reads back as the same. */
void hg_kernel_print(const hinge_kernel *kernel, struct hg_text *text);

#endif
