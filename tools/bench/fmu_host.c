/* Times FMI 2.0 co-simulation FMUs from C: what a step costs in a host without Python, in one thread and in several.
 *
 *     fmu_host LIBRARY RESOURCES GUID STEPS SIZE THREADS INPUTS REFERENCE … OUTPUTS REFERENCE …
 *
 * Each thread has an instance of its own.  INPUTS and OUTPUTS are numbers of references that follow.  Prints three
 * numbers: nanoseconds a doStep, nanoseconds a set + doStep + get, both in the first thread alone, and the time of all
 * threads together over that of one thread alone for as many steps each.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void *Any;
enum { MOST = 64 };
static int (*set_real)(Any, const unsigned *, size_t, const double *), (*get_real)(Any, const unsigned *, size_t, double *);
static int (*do_step)(Any, double, double, int);
static unsigned inputs[MOST], outputs[MOST];
static size_t n_inputs, n_outputs;
static int steps;
static double size;

typedef struct {
    Any instance;
    double t;
    int failed;
} Driven;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void *only_steps(void *driven)
{
    Driven *one = driven;
    for (int k = 0; k < steps; k++, one->t += size)
        one->failed |= do_step(one->instance, one->t, size, 1);
    return NULL;
}

static void *all_of_it(void *driven)
{
    Driven *one = driven;
    double given[MOST], found[MOST];
    for (int k = 0; k < steps; k++, one->t += size) {
        for (size_t j = 0; j < n_inputs; j++)
            given[j] = (double)((k + (int)j) % 7) / 7.0;
        one->failed |= set_real(one->instance, inputs, n_inputs, given) | do_step(one->instance, one->t, size, 1) |
                       get_real(one->instance, outputs, n_outputs, found);
    }
    return NULL;
}

static double timed(void *(*what)(void *), Driven *one)
{
    double begin = now();
    what(one);
    return now() - begin;
}

int main(int argc, char **argv)
{
    if (argc < 9)
        return 1;
    Any library = dlopen(argv[1], RTLD_NOW);
    if (!library)
        return 2;
    *(Any *)&set_real = dlsym(library, "fmi2SetReal");
    *(Any *)&get_real = dlsym(library, "fmi2GetReal");
    *(Any *)&do_step = dlsym(library, "fmi2DoStep");
    Any (*instantiate)(const char *, int, const char *, const char *, Any, int, int);
    int (*experiment)(Any, int, double, double, int, double), (*enter)(Any), (*leave)(Any);
    *(Any *)&instantiate = dlsym(library, "fmi2Instantiate");
    *(Any *)&experiment = dlsym(library, "fmi2SetupExperiment");
    *(Any *)&enter = dlsym(library, "fmi2EnterInitializationMode");
    *(Any *)&leave = dlsym(library, "fmi2ExitInitializationMode");
    Any callbacks[] = {NULL, (Any)calloc, (Any)free, NULL, NULL};
    steps = atoi(argv[4]), size = atof(argv[5]);
    int n = atoi(argv[6]), at = 7;
    n_inputs = (size_t)atoi(argv[at++]);
    for (size_t k = 0; k < n_inputs; k++)
        inputs[k] = (unsigned)atoi(argv[at++]);
    n_outputs = (size_t)atoi(argv[at++]);
    for (size_t k = 0; k < n_outputs; k++)
        outputs[k] = (unsigned)atoi(argv[at++]);
    Driven *all = calloc((size_t)n, sizeof(Driven));
    for (int k = 0; k < n; k++) {
        all[k].instance = instantiate("one", 1, argv[3], argv[2], callbacks, 0, 0);
        if (!all[k].instance || experiment(all[k].instance, 0, 0.0, 0.0, 0, 0.0) || enter(all[k].instance) ||
            leave(all[k].instance))
            return 3;
    }
    double best[2] = {1e300, 1e300}, together = 1e300;
    for (int round = 0; round < 7; round++) {
        double found = timed(only_steps, all);
        best[0] = found < best[0] ? found : best[0];
        found = timed(all_of_it, all);
        best[1] = found < best[1] ? found : best[1];
        pthread_t threads[MOST];
        double begin = now();
        for (int k = 0; k < n; k++)
            pthread_create(&threads[k], NULL, all_of_it, &all[k]);
        for (int k = 0; k < n; k++)
            pthread_join(threads[k], NULL);
        found = now() - begin;
        together = found < together ? found : together;
    }
    for (int k = 0; k < n; k++)
        if (all[k].failed)
            return 4;
    printf("%.1f %.1f %.3f\n", best[0] / steps, best[1] / steps, together / best[1]);
    return 0;
}
