/*
 * Drawing by gnuplot, started as a program of its own: it reads one script, which holds the data too, and the picture
 * goes to where it was asked for when it is whole.
 */
#ifndef HINGE_TOOLS_GNUPLOT_H
#define HINGE_TOOLS_GNUPLOT_H

#include "common.h"

struct gnuplot {
    const char *picture; /* .svg or .png */
    char *kept;          /* the script's name, where the user named a folder for it; otherwise NULL */
    FILE *script;
};

/* Dies if a picture cannot be written there, or has no known ending. */
void gnuplot_check(const char *picture);
/* Begins a picture, and dies if it cannot be written. keep is the script's folder, made if it is not there; NULL: the
 * script is not kept. Writes its first lines: terminal, output, font, and scale, by which sizes of points are to be
 * multiplied. */
void gnuplot_open(struct gnuplot *g, const char *picture, const char *keep);
/* Begin and end a data block, $NAME in the script; the comment says what its lines hold. */
FILE *gnuplot_data(const struct gnuplot *g, const char *name, const char *comment);
void gnuplot_end_data(const struct gnuplot *g);
/* Writes a text to the script behind start, such as "set title ", or "title " of a line of the legend. */
void gnuplot_title(const struct gnuplot *g, const char *start, const char *format, ...) PRINTF_LIKE(3, 4);
/* Runs the script; dies if gnuplot is not there or fails. */
void gnuplot_draw(struct gnuplot *g);

#endif
