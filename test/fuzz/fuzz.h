/*
 * What the fuzz targets share. A target is one fuzz_NAME.c; libFuzzer calls it through fuzz.c, and so does the main
 * there that replays the files of a folder, for compilers without libFuzzer.
 *
 * Each target also uses what it has read, and ends the process where a promise of hinge is broken.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <hinge/io.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library believes that the machine has so much memory: what takes more is a defect. */
enum { FUZZ_MEMORY = 1 << 20 };

/* One input; true: it was accepted. Defined by the target. */
bool fuzz_one(const uint8_t *data, size_t size);

#define CHECK(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *what, const char *file, int line);

/* A file of this process, to be written over by anyone. fuzz_file_of also fills it. */
const char *fuzz_file(void);
const char *fuzz_file_of(const uint8_t *data, size_t size);

/* The error belongs to the status and is one printable line. */
void fuzz_check_error(hinge_status status, const hinge_error *err);
/* Reads data in the way of options and checks what came of it; *data is all zero if it was refused. Written as LIBSVM
 * text and read again it must be the same. */
hinge_status fuzz_read(const uint8_t *bytes, size_t size, const hinge_data_options *options, hinge_data *data);
double fuzz_value(const hinge_data *data, size_t row, size_t col);

#endif
