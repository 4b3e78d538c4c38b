/* A ball that bounces, for model exchange: h' = v, v' = -g, and on the ground v becomes -e v in an event.  After the impact
   that leaves it slower than `slow` the run ends. */
enum { G, E, SLOW, H, V, BOUNCES, LAST, INPUT = 99 };
#define NX 2
#define NZ 1
#define NOMINAL 1.0

static void start(Instance *u) { u->r[G] = 9.81; u->r[E] = 0.7; u->r[SLOW] = 1.0; }
static void initialise(Instance *u) { u->x[0] = 1.0; u->x[1] = 0.0; }
static int rates(Instance *u, double dx[]) { dx[0] = u->x[1]; dx[1] = -u->r[G]; return 0; }
static void indicators(Instance *u, double z[]) { z[0] = u->x[0]; }
static void event(Instance *u) {
    if (u->x[0] <= 0.0 && u->x[1] < 0.0) {
        u->x[0] = 0.0;
        u->x[1] *= -u->r[E];
        u->r[BOUNCES] += 1.0;
        u->r[LAST] = u->t;
        u->changed = 1;
        u->ends = u->x[1] < u->r[SLOW];
    }
}
static void outputs(Instance *u) { u->r[H] = u->x[0]; u->r[V] = u->x[1]; }
static int completed(Instance *u) { (void)u; return 0; }
