/* Mass, spring and damper: m a = force - d v - k x.  Runge-Kutta of order 4 in steps of at most 1 ms. */
enum { M, D, K, X0, V0, FORCE, X, V, A };

static void start(Instance *u) { double r[] = {1.0, 0.5, 4.0, 0.0, 0.0, 0.0}; memcpy(u->r, r, sizeof r); }
static void initialise(Instance *u) { u->r[X] = u->r[X0]; u->r[V] = u->r[V0]; }
static double acceleration(const Instance *u, double x, double v, double s) {
    return (u->r[FORCE] + u->rate[FORCE] * s - u->r[D] * v - u->r[K] * x) / u->r[M];
}
static void outputs(Instance *u) { u->r[A] = acceleration(u, u->r[X], u->r[V], 0.0); }
static fmi2Status advance(Instance *u, double h) {
    int n = (int)ceil(h / 1e-3 - 1e-9);
    double e = h / n, s = 0.0;
    for (int k = 0; k < n; k++, s = k * e) {
        double x = u->r[X], v = u->r[V];
        double a1 = acceleration(u, x, v, s);
        double v2 = v + 0.5 * e * a1, a2 = acceleration(u, x + 0.5 * e * v, v2, s + 0.5 * e);
        double v3 = v + 0.5 * e * a2, a3 = acceleration(u, x + 0.5 * e * v2, v3, s + 0.5 * e);
        double v4 = v + e * a3, a4 = acceleration(u, x + e * v3, v4, s + e);
        u->r[X] = x + e / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4);
        u->r[V] = v + e / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    }
    u->r[FORCE] += u->rate[FORCE] * h;
    return fmi2OK;
}
