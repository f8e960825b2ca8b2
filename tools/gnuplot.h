/*
 * Drawing by gnuplot, started as a program of its own: data and script go to a folder, the picture to where it was
 * asked for, by another name until it is whole.
 */
#ifndef HINGE_TOOLS_GNUPLOT_H
#define HINGE_TOOLS_GNUPLOT_H

#include "common.h"

struct gnuplot {
    const char *picture; /* .svg or .png */
    char *folder;        /* of data and script; kept where the user named it */
    int keep;
    FILE *script;
};

/* Dies if a picture cannot be written there, or has no known ending. */
void gnuplot_check(const char *picture);
/* Begins a picture, and dies if it cannot be written. keep is the folder, made if it is not there; NULL: a temporary
 * one. Writes the script's first lines: terminal, output, font, and scale, by which sizes of points are to be
 * multiplied. */
void gnuplot_open(struct gnuplot *g, const char *picture, const char *keep);
/* Opens a data file in the folder, which the script reads by its name alone, and writes its head. The name is a string
 * that stays. */
FILE *gnuplot_file(const struct gnuplot *g, const char *name, const char *head);
void gnuplot_close_file(FILE *file);
/* Writes a title to the script, that of the picture where set is "set ", or that of a line of the legend. */
void gnuplot_title(const struct gnuplot *g, const char *set, const char *format, ...) PRINTF_LIKE(3, 4);
/* Runs the script; dies if gnuplot is not there or fails. */
void gnuplot_draw(struct gnuplot *g);

#endif
