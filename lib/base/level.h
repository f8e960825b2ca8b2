/*
 * For sources that are compiled once a level of instructions, where HG_LEVEL is plain, v2, v3 or v4: names that end in
 * the level, its number, and the bytes of its registers.
 */
#ifndef HG_LEVEL_H
#define HG_LEVEL_H

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

#define NUMBER_plain 1
#define NUMBER_v2 2
#define NUMBER_v3 3
#define NUMBER_v4 4
#define NUMBER GLUE(NUMBER_, HG_LEVEL)

/* Vectors are as wide as the level's registers: of wider ones compilers keep none there. */
#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16
#endif

#endif
