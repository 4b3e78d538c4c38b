/* The time, with a pause in every step: `pause` milliseconds. */
#include <time.h>
enum { PAUSE, Y };

static void start(Instance *u) { u->r[PAUSE] = 2.0; }
static void initialise(Instance *u) { u->r[Y] = 0.0; }
static void outputs(Instance *u) { (void)u; }
static fmi2Status advance(Instance *u, double h) {
    struct timespec pause = {0, (long)(1e6 * u->r[PAUSE])};
    nanosleep(&pause, NULL);
    u->r[Y] += h;
    return fmi2OK;
}
