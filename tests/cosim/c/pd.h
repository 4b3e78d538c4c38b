/* A controller without memory: u = kp (r - y) - kd v. */
enum { KP, KD, R, Y, V, U };

static void start(Instance *u) { double r[] = {8.0, 1.0, 0.0, 0.0, 0.0}; memcpy(u->r, r, sizeof r); }
static void initialise(Instance *u) { (void)u; }
static void outputs(Instance *u) { u->r[U] = u->r[KP] * (u->r[R] - u->r[Y]) - u->r[KD] * u->r[V]; }
static fmi2Status advance(Instance *u, double h) {
    for (int k = R; k <= V; k++) u->r[k] += u->rate[k] * h;
    return fmi2OK;
}
