/* Van der Pol's oscillator with an input, x1'' = mu (1 - x1^2) x1' - x1 + u, and a lag x3' = (u - x3) / T.  `y` depends on
   the input at once.  Where |x1| is above `limit` there are no rates. */
enum { MU, T, LIMIT, U, X, VX, LAGGED, Y, INPUT = U };
#define NX 3
#define NZ 0
#define NOMINAL 2.0

static void start(Instance *u) { u->r[MU] = 1.0; u->r[T] = 0.5; u->r[LIMIT] = 1e9; }
static void initialise(Instance *u) { u->x[0] = 2.0; u->x[1] = u->x[2] = 0.0; }
static int rates(Instance *u, double dx[]) {
    double x = u->x[0], v = u->x[1];
    dx[0] = v;
    dx[1] = u->r[MU] * (1.0 - x * x) * v - x + u->r[U];
    dx[2] = (u->r[U] - u->x[2]) / u->r[T];
    return fabs(x) > u->r[LIMIT] ? 2 : 0;
}
static void indicators(Instance *u, double z[]) { (void)u; (void)z; }
static void event(Instance *u) { (void)u; }
static void outputs(Instance *u) { u->r[X] = u->x[0]; u->r[VX] = u->x[1]; u->r[LAGGED] = u->x[2]; u->r[Y] = u->x[2] + 2.0 * u->r[U]; }
static int completed(Instance *u) { (void)u; return 0; }
