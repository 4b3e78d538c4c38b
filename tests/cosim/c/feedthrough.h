/* Gives on what it takes, of all types: real, integer, enumeration, truth value, text. */
enum { REAL_IN, REAL_OUT, FIXED, TUNABLE };

static void start(Instance *u) { u->r[FIXED] = 1.0; strcpy(u->s[0], "Set me!"); strcpy(u->s[1], "Set me!"); u->i[2] = 1; u->i[3] = 1; }
static void initialise(Instance *u) { (void)u; }
static void outputs(Instance *u) {
    u->r[REAL_OUT] = u->r[REAL_IN];
    u->i[1] = u->i[0];
    u->i[3] = u->i[2];
    u->b[1] = u->b[0];
    strcpy(u->s[1], u->s[0]);
}
static fmi2Status advance(Instance *u, double h) { u->r[REAL_IN] += u->rate[REAL_IN] * h; return fmi2OK; }
