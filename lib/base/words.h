/*
 * Labels that are words: the numbers that stand for them, and the words of those numbers.
 */
#ifndef HG_WORDS_H
#define HG_WORDS_H

#include "lib/base/base.h"

/* Text of a file, not 0-terminated. */
struct hg_word {
    const char *p;
    size_t length;
};

/* A word is not empty and holds no control character. */
bool hg_is_word(const char *p, size_t length);

/* The known words (count 0: none) and behind them those of n labels, each once, in the order in which they come;
 * labels[n] are their numbers. EINVAL: a known word is none, or stands twice. */
hinge_status hg_words_collect(const hinge_words *known, const struct hg_word *of, size_t n, hinge_words *words,
                              double *labels, hinge_error *err);
void hg_words_free(hinge_words *words);

#endif
