/*
 * Labels that are words (words.h): words are found by a hash table with open places, and get numbers from 1 in the
 * order in which they come. Text stays the file's until all are known; then one block of memory takes pointers and
 * copies, so that one hg_free frees them.
 */
#include "lib/base/words.h"

#include <string.h>

bool hg_is_word(const char *p, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)p[i] < ' ' || p[i] == 0x7f)
            return false;
    return length > 0;
}

/* Returns the place of the word in table[mask + 1], which holds numbers from 1 on of words in list: 0 there, or its
 * number. */
static size_t *place_of(size_t *table, size_t mask, const struct hg_word *list, struct hg_word word)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < word.length; i++)
        hash = (hash ^ (unsigned char)word.p[i]) * UINT64_C(0x100000001b3);
    for (size_t at = (size_t)(hash ^ hash >> 32) & mask;; at = (at + 1) & mask) {
        const struct hg_word *other = table[at] > 0 ? &list[table[at] - 1] : NULL;
        if (other == NULL || (other->length == word.length && memcmp(other->p, word.p, word.length) == 0))
            return &table[at];
    }
}

/* Makes the words that a caller gets, of a list that points into a file's text: terminated by 0, in one block. */
static hinge_status copy_words(const struct hg_word *list, size_t n, hinge_words *words, hinge_error *err)
{
    size_t bytes = n * sizeof *words->word;
    for (size_t i = 0; i < n; i++)
        bytes += list[i].length + 1;
    char *memory;
    HG_TRY(HG_MAKE(err, "words", HG_ARRAY(memory, bytes)));
    char *text = memory + n * sizeof *words->word;
    *words = (hinge_words){ .count = n, .word = (const char **)(void *)memory };
    for (size_t i = 0; i < n; i++) {
        words->word[i] = memcpy(text, list[i].p, list[i].length);
        text[list[i].length] = '\0';
        text += list[i].length + 1;
    }
    return HINGE_OK;
}

/* Goes over known words and labels alike; the table has twice as many places as words that may come, so that a free one
 * is always near. */
hinge_status hg_words_collect(const hinge_words *known, const struct hg_word *of, size_t n, hinge_words *words,
                              double *labels, hinge_error *err)
{
    size_t before = known->count, size = 64, count = 0, *table;
    struct hg_word *list;
    hinge_status status = HINGE_OK;
    while (size / 2 < before + n)
        size *= 2;
    HG_TRY(HG_MAKE(err, "the numbers of words", HG_ZEROS(table, size), HG_ARRAY(list, before + n)));
    for (size_t i = 0; status == HINGE_OK && i < before + n; i++) {
        struct hg_word word = i < before ? (struct hg_word){ known->word[i], strlen(known->word[i]) } : of[i - before];
        size_t *place = place_of(table, size - 1, list, word);
        if (i < before && (*place != 0 || !hg_is_word(word.p, word.length)))
            status = hg_fail(err, HINGE_EINVAL, "words: '%.60s' %s", word.p,
                             *place != 0 ? "stands twice" : "is empty or holds control characters");
        if (*place == 0) {
            list[count] = word;
            *place = ++count;
        }
        if (i >= before)
            labels[i - before] = (double)*place;
    }
    HG_THEN(status, copy_words(list, count, words, err));
    hg_free(table);
    return status;
}

void hg_words_free(hinge_words *words)
{
    hg_free((void *)words->word);
    *words = (hinge_words){ 0 };
}
