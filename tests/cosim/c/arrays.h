/* Arrays and all types of FMI 3.0: every output is the input of its type. y = A u with a matrix A of 2 x 3; each row of
   the names of whole numbers is one type. */
#undef NR
#define NR 40
#undef USED
#define USED NR
enum { A = 0, U = 6, Y = 9, SINGLE_IN = 11, SINGLE_OUT = 12, GAIN = 13, PAIR_IN = 15, PAIR_OUT = 17 };
#undef SIZE_OF
/* the matrix, the vectors, two elements of Float32, and of each of Boolean and String */
#define SIZE_OF(r) \
    ((r) == A ? 6 : (r) == U ? 3 : (r) == Y || (r) == PAIR_IN || (r) == PAIR_OUT || (r) == GAIN ? 2 : \
     (r) == TRUTH || (r) == TRUTH + 2 || (r) == TEXT || (r) == TEXT + 2 ? 2 : 1)

static void start(Instance *u) {
    double a[] = {1, 0, 0, 0, 1, 0};
    memcpy(u->r, a, sizeof a);
    for (int k = 0; k < 3; k++) u->r[U + k] = k + 1.0;
    u->r[GAIN] = u->r[GAIN + 1] = 1.0;
}
static void initialise(Instance *u) { (void)u; }
static void outputs(Instance *u) {
    for (int k = 0; k < 2; k++) {
        u->r[Y + k] = 0.0;
        for (int j = 0; j < 3; j++) u->r[Y + k] += u->r[GAIN + k] * u->r[A + 3 * k + j] * u->r[U + j];
        u->r[PAIR_OUT + k] = u->r[PAIR_IN + k];
        u->b[2 + k] = u->b[k];
        memcpy(u->s[2 + k], u->s[k], sizeof u->s[k]);
    }
    u->r[SINGLE_OUT] = u->r[SINGLE_IN];
    /* Int8, UInt8, ... UInt64: inputs at even places, outputs at odd ones */
    for (int k = 0; k < 8; k++) u->i[2 * k + 1] = u->i[2 * k];
}
static int advance(Instance *u, double h) { (void)u; (void)h; return 0; }
