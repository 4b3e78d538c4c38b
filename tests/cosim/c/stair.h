/* A counter that goes up at each whole second.  The step that reaches `last` is taken, and ends the run at its end, or
   at `last` within it: discarded with Terminated, and `LastSuccessfulTime` says how far it got. */
enum { LAST, LEVEL };

static void start(Instance *u) { double r[] = {10.0, 1.0}; memcpy(u->r, r, sizeof r); u->i[0] = 1; }
static void initialise(Instance *u) { u->i[0] = 1; u->r[LEVEL] = 1.0; u->terminated = 0; }
static void outputs(Instance *u) { (void)u; }
static fmi2Status advance(Instance *u, double h) {
    double t = u->t + h;
    int ends = t > u->r[LAST] - 1e-9;
    if (ends && t > u->r[LAST] + 1e-9) t = u->reached = u->r[LAST];
    u->i[0] = 1 + (int)floor(t + 1e-9);
    u->r[LEVEL] = u->i[0];
    u->terminated = ends;
    return ends ? fmi2Discard : fmi2OK;
}
