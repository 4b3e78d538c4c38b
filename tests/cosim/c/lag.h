/* First-order lag: T y' = k u - y, exactly, for inputs that are linear over a step. */
enum { T, K, Y0, UIN, Y };

static void start(Instance *u) { double r[] = {0.5, 1.0, 0.0, 0.0}; memcpy(u->r, r, sizeof r); }
static void initialise(Instance *u) { u->r[Y] = u->r[Y0]; }
static void outputs(Instance *u) { (void)u; }
static fmi2Status advance(Instance *u, double h) {
    double a = u->r[K] * u->r[UIN], b = u->r[K] * u->rate[UIN], e = exp(-h / u->r[T]);
    u->r[Y] = a + b * (h - u->r[T]) + (u->r[Y] - a + b * u->r[T]) * e;
    u->r[UIN] += u->rate[UIN] * h;
    return fmi2OK;
}
