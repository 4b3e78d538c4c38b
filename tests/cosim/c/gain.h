/* Without memory, and with a loop if connected to itself: y = c + k u + q cos(u). */
enum { C, K, Q, UIN, Y };

static void start(Instance *u) { double r[] = {0.0, 1.0, 0.0, 0.0}; memcpy(u->r, r, sizeof r); }
static void initialise(Instance *u) { (void)u; }
static void outputs(Instance *u) { u->r[Y] = u->r[C] + u->r[K] * u->r[UIN] + u->r[Q] * cos(u->r[UIN]); }
static fmi2Status advance(Instance *u, double h) { u->r[UIN] += u->rate[UIN] * h; return fmi2OK; }
