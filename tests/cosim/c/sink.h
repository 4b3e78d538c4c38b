/* Takes an integer, a truth value and a text; gives them on as a real and as they are, the integer with `plus`. */
enum { SUM, PLUS };

static void start(Instance *u) { strcpy(u->s[0], "nothing"); }
static void initialise(Instance *u) { (void)u; }
static void outputs(Instance *u) { u->r[SUM] = u->i[0] + 100.0 * u->b[0]; u->i[1] = u->i[0] + (int)u->r[PLUS]; u->b[1] = u->b[0]; }
static fmi2Status advance(Instance *u, double h) { (void)u; (void)h; return fmi2OK; }
