/* A sawtooth by time events every `period`, a state that is set back by step events where it is above 1, and an input and
   a parameter that are taken at events only.  Without states there are its time events alone. */
enum { PERIOD, SAW, RESETS, COMMAND, TAKEN, SUM, STUCK, INPUT = 99 };
#ifndef NX
#define NX 1
#endif
#define NZ 0
#define NOMINAL 1.0

static void start(Instance *u) { u->r[PERIOD] = 0.25; }
static void initialise(Instance *u) { u->r[SAW] = -1.0; }
static int rates(Instance *u, double dx[]) { (void)u; if (NX) dx[0] = 3.0; return 0; }
static void indicators(Instance *u, double z[]) { (void)u; (void)z; }
static void event(Instance *u) {
    if (u->t >= (u->r[SAW] + 1.0) * u->r[PERIOD]) u->r[SAW] += 1.0;
    if (NX && u->x[0] > 1.0) { u->x[0] -= 1.0; u->r[RESETS] += 1.0; u->changed = 1; }
    u->r[TAKEN] = u->r[COMMAND];
    u->timed = 1;
    u->next = u->r[STUCK] > 0.0 && u->t >= u->r[STUCK] ? u->t : (u->r[SAW] + 1.0) * u->r[PERIOD];
}
static void outputs(Instance *u) { u->r[SUM] = u->r[RESETS] + (NX ? u->x[0] : 0.0); }
static int completed(Instance *u) { return NX && u->x[0] > 1.0; }
