/* Writes where nothing is: in a step of NaN seconds, and in the step that reaches `when`. */
#define ANY_STEP
#include <signal.h>
enum { WHEN, Y };

static void start(Instance *u) { u->r[WHEN] = 1e9; }
static void initialise(Instance *u) { u->r[Y] = 0.0; }
static void outputs(Instance *u) { (void)u; }
static fmi2Status advance(Instance *u, double h) {
    if (h != h || u->t + h > u->r[WHEN]) {
        /* no handler of the host may make something else of it */
        signal(SIGSEGV, SIG_DFL);
        *(volatile int *)8 = 1;
    }
    if (h <= 0.0) return fmi2Error;
    u->r[Y] += h;
    return fmi2OK;
}
