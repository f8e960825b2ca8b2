/*
 * The hinge command: finds the subcommand.
 */
#include <string.h>

#include "common.h"

static const struct command {
    const char *name;
    command_function *run;
    const char *help;
} commands[] = {
    { "train", command_train, "train a model on a data file" },
    { "grid", command_grid, "choose C, gamma and the like by cross-validation" },
    { "predict", command_predict, "predict labels or values with a model" },
    { "calibrate", command_calibrate, "give a model probabilities, from data it was not trained on" },
    { "explain", command_explain, "share decision values out among features, by Shapley values" },
    { "check", command_check, "find each faulty line of a data file" },
    { "sample", command_sample, "take some lines of a data file, by class or at random" },
    { "scale", command_scale, "scale the features of a data file" },
    { "report", command_report,
      "tell certificate, margin, support vectors, slacks, bounds and losses of a model on data" },
    { "plot", command_plot, "draw a model's decision regions, or error and support vectors against C" },
    { "export", command_export, "write a model as a C file that predicts without hinge" },
    { "info", command_info, "tell about this machine, a model or a data file" },
};

static void print_help(FILE *file)
{
    fprintf(file, "usage: hinge COMMAND [options] ...\n\nKernel support vector machines on dense data.\n\n");
    for (size_t k = 0; k < COUNT_OF(commands); k++)
        fprintf(file, "  %-10s %s\n", commands[k].name, commands[k].help);
    fprintf(file, "  %-10s %s\n", "help", "print this text, or that of a command");
    fprintf(file,
            "\n`hinge COMMAND --help` lists the options of a command, `hinge --version` prints the version.\n"
            "Options of LIBSVM's svm-train, svm-predict and svm-scale keep their meaning. A data file or model file\n"
            "that is to be read is standard input where its name is -.\n");
}

static const struct command *find_command(const char *name)
{
    for (size_t k = 0; k < COUNT_OF(commands); k++)
        if (strcmp(name, commands[k].name) == 0)
            return &commands[k];
    const char *meant = nearest(name, &commands[0].name, COUNT_OF(commands), sizeof *commands);
    die(EXIT_USAGE, "'%s' is no command of hinge%s%s%s; see `hinge help`", name, meant ? ": did you mean " : "",
        meant ? meant : "", meant ? "?" : "");
}

static int help(int argc, char **argv)
{
    if (argc > 1) {
        char option[] = "--help";
        char *words[] = { argv[1], option, NULL };
        return find_command(argv[1])->run(2, words);
    }
    print_help(stdout);
    finish_stdout();
    return 0;
}

int main(int argc, char **argv)
{
    system_begin(&argc, &argv);
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("hinge %s\n", hinge_version());
        finish_stdout();
        return 0;
    }
    remember_arguments(argc, argv);
    return find_command(argv[1])->run(argc - 1, argv + 1);
}
