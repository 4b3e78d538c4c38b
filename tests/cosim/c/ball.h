/* A ball that bounces: h'' = -g, and v becomes -e v on the ground.  A step that reaches past an impact is discarded at
   the impact.  After the impact that leaves it slower than `slow` it lies still, and ends the run there. */
enum { HEIGHT, SPEED, G, E, SLOW, BOUNCES };

static void start(Instance *u) { double r[] = {1.0, 0.0, 9.81, 0.7, 1.0}; memcpy(u->r, r, sizeof r); }
static void initialise(Instance *u) { u->r[BOUNCES] = 0.0; u->i[0] = 0; u->terminated = 0; }
static void outputs(Instance *u) { u->i[0] = (int)u->r[BOUNCES]; }
static fmi2Status advance(Instance *u, double h) {
    double g = u->r[G], v = u->r[SPEED], x = u->r[HEIGHT];
    double fall = (v + sqrt(v * v + 2.0 * g * fmax(x, 0.0))) / g;
    if (fall <= 0.0) fall = 2.0 * v / g;
    if (h < fall - 1e-12) {
        u->r[HEIGHT] = x + v * h - 0.5 * g * h * h;
        u->r[SPEED] = v - g * h;
        return fmi2OK;
    }
    u->reached = u->t + fall;
    u->r[HEIGHT] = 0.0;
    u->r[SPEED] = u->r[E] * (g * fall - v);
    u->r[BOUNCES] += 1.0;
    if (u->r[SPEED] < u->r[SLOW]) {
        u->r[SPEED] = 0.0;
        u->terminated = 1;
        say(u, fmi2Discard, "logStatusDiscard", "the ball lies still");
        return fmi2Discard;
    }
    return h > fall + 1e-12 ? fmi2Discard : fmi2OK;
}
