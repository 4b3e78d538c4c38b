/* A square wave that switches at multiples of `half`; no step may go across: it is discarded there.
   After `last` it asks to end the run; with `broken` it fails at that time. */
enum { HALF, LAST, BROKEN, STUCK, WAVE, COUNT };

static void start(Instance *u) { double r[] = {0.25, 1e9, 1e9, 1e9, 1.0, 0.0}; memcpy(u->r, r, sizeof r); strcpy(u->s[0], "clock"); }
static void initialise(Instance *u) { u->r[WAVE] = 1.0; u->r[COUNT] = 0.0; u->i[0] = 0; u->b[0] = 1; }
static void outputs(Instance *u) { (void)u; }
static fmi2Status advance(Instance *u, double h) {
    double next = (u->r[COUNT] + 1.0) * u->r[HALF];
    if (u->t + h > u->r[STUCK] + 1e-12) {
        say(u, fmi2Discard, "logStatusDiscard", "out of springs");
        u->reached = u->t;
        return fmi2Discard;
    }
    if (u->t + h > u->r[BROKEN] + 1e-12) { say(u, fmi2Error, "logStatusError", "the clock is broken.\nTraceback (most recent call last):\n  a spring"); return fmi2Error; }
    if (u->t + h > u->r[LAST] + 1e-12) {
        say(u, fmi2Discard, "logStatusDiscard", "that was the last tick");
        u->reached = u->r[LAST]; u->terminated = 1;
        return fmi2Discard;
    }
    if (u->t + h > next + 1e-12) { u->reached = next; return fmi2Discard; }
    if (u->t + h > next - 1e-12) {
        u->r[COUNT] += 1.0;
        u->r[WAVE] = -u->r[WAVE];
        u->i[0] += 1;
        u->b[0] = !u->b[0];
    }
    return fmi2OK;
}
