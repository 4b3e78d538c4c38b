/* An FMI 3.0 co-simulation FMU around one model: compiled with -DMODEL="file.h", as frame.c is for FMI 2.0, with the
   same models.

   References of reals are their places in r[], those of whole numbers, truth values and texts are places in i[], b[] and
   s[] after WHOLE, TRUTH and TEXT.  A model may have arrays: SIZE_OF(reference) is how many elements follow there.  With
   EARLY, a step longer than EARLY seconds returns early, although no host of ours allows it. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2FunctionTypes.h"
#include "fmi3Functions.h"

#ifndef NR
#define NR 16
#endif
#ifndef NI
#define NI 16
#endif
#ifndef USED
#define USED NR
#endif
#ifndef SIZE_OF
#define SIZE_OF(reference) 1
#endif
#define WHOLE 1000
#define TRUTH 2000
#define TEXT 3000

enum { NEW, INITIALISING, STEPPING };

typedef struct {
    double r[NR], rate[NR];
    long long i[NI];
    int b[NI];
    char s[4][64];
    double t, reached;
    int terminated, mode;
    fmi3LogMessageCallback log;
    void *environment;
    char name[64];
    int logging;
} Instance;

static void say(Instance *u, int status, const char *category, const char *text) {
    if (u->log && (u->logging || status > fmi3Warning)) u->log(u->environment, status, category, text);
}

#include MODEL

const char *fmi3GetVersion(void) { return "3.0"; }
fmi3Status fmi3SetDebugLogging(fmi3Instance c, bool on, size_t n, const fmi3String k[]) {
    (void)n; (void)k;
    ((Instance *)c)->logging = on;
    return fmi3OK;
}

static int alive = 0, states = 0;
/* how many instances and saved states there are: exported for the tests */
int frame_alive(void) { return alive; }
int frame_states(void) { return states; }

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String path, bool visible, bool logging,
                                         bool events, bool early, const fmi3ValueReference needed[], size_t n,
                                         void *environment, fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update) {
    Instance *u;
    (void)token; (void)path; (void)visible; (void)needed; (void)update;
    if (!strncmp(name, "refused", 7) || events || early || n) {
        log(environment, fmi3Error, "logStatusError", "no licence for that");
        return NULL;
    }
    u = calloc(1, sizeof(Instance));
    u->log = log;
    u->environment = environment;
    u->logging = logging;
    snprintf(u->name, sizeof u->name, "%s", name);
    start(u);
    alive++;
    say(u, fmi3OK, "logAll", "instantiated, 100 % sure");
    return u;
}
void fmi3FreeInstance(fmi3Instance c) { alive--; free(c); }

static fmi3Status next(Instance *u, int from, int to) {
    if (u->mode != from) { say(u, fmi3Error, "logStatusError", "the call is not allowed now"); return fmi3Error; }
    u->mode = to;
    initialise(u);
    return fmi3OK;
}
fmi3Status fmi3EnterInitializationMode(fmi3Instance c, bool td, double tol, double t0, bool sd, double t1) {
    Instance *u = c;
    (void)td; (void)tol; (void)sd; (void)t1;
    if (u->mode == NEW) u->t = u->reached = t0;
    return next(u, NEW, INITIALISING);
}
fmi3Status fmi3ExitInitializationMode(fmi3Instance c) { return next(c, INITIALISING, STEPPING); }
fmi3Status fmi3Terminate(fmi3Instance c) { (void)c; return fmi3OK; }
fmi3Status fmi3Reset(fmi3Instance c) {
    Instance *u = c, fresh = {.log = u->log, .environment = u->environment, .logging = u->logging};
    memcpy(fresh.name, u->name, sizeof fresh.name);
    *u = fresh;
    start(u);
    return fmi3OK;
}

/* Numbers of one type of C at places behind `base` in a field; arrays have several. */
#define NUMBERS(Name, Type, field, base, limit)                                                                         \
    fmi3Status fmi3Get##Name(fmi3Instance c, const fmi3ValueReference vr[], size_t n, Type value[], size_t given) {     \
        Instance *u = c;                                                                                                \
        size_t total = 0;                                                                                               \
        if (u->mode == NEW) return fmi3Error;                                                                           \
        outputs(u);                                                                                                     \
        for (size_t k = 0; k < n; k++)                                                                                  \
            for (size_t e = 0; e < (size_t)SIZE_OF(vr[k]); e++) {                                                       \
                if (vr[k] < base || vr[k] - base + e >= limit || total == given) return fmi3Error;                      \
                value[total++] = (Type)u->field[vr[k] - base + e];                                                      \
            }                                                                                                           \
        return total == given ? fmi3OK : fmi3Error;                                                                     \
    }                                                                                                                   \
    fmi3Status fmi3Set##Name(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const Type value[],               \
                             size_t given) {                                                                            \
        Instance *u = c;                                                                                                \
        size_t total = 0;                                                                                               \
        for (size_t k = 0; k < n; k++)                                                                                  \
            for (size_t e = 0; e < (size_t)SIZE_OF(vr[k]); e++) {                                                       \
                if (vr[k] < base || vr[k] - base + e >= limit || total == given) return fmi3Error;                      \
                if (!isfinite((double)value[total])) {                                                                  \
                    say(u, fmi3Error, "logStatusError", "a real input is not finite");                                  \
                    return fmi3Error;                                                                                   \
                }                                                                                                       \
                u->field[vr[k] - base + e] = value[total++];                                                            \
            }                                                                                                           \
        return total == given ? fmi3OK : fmi3Error;                                                                     \
    }
NUMBERS(Float64, double, r, 0, USED)
NUMBERS(Float32, float, r, 0, USED)
NUMBERS(Int8, int8_t, i, WHOLE, NI)
NUMBERS(UInt8, uint8_t, i, WHOLE, NI)
NUMBERS(Int16, int16_t, i, WHOLE, NI)
NUMBERS(UInt16, uint16_t, i, WHOLE, NI)
NUMBERS(Int32, int32_t, i, WHOLE, NI)
NUMBERS(UInt32, uint32_t, i, WHOLE, NI)
NUMBERS(Int64, int64_t, i, WHOLE, NI)
NUMBERS(UInt64, uint64_t, i, WHOLE, NI)
NUMBERS(Boolean, bool, b, TRUTH, NI)

fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3String value[], size_t given) {
    size_t total = 0;
    outputs(c);
    for (size_t k = 0; k < n; k++)
        for (size_t e = 0; e < (size_t)SIZE_OF(vr[k]); e++) {
            if (vr[k] < TEXT || vr[k] - TEXT + e >= 4 || total == given) return fmi3Error;
            value[total++] = ((Instance *)c)->s[vr[k] - TEXT + e];
        }
    return fmi3OK;
}
fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3String value[], size_t given) {
    size_t total = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t e = 0; e < (size_t)SIZE_OF(vr[k]); e++) {
            if (vr[k] < TEXT || vr[k] - TEXT + e >= 4 || total == given) return fmi3Error;
            snprintf(((Instance *)c)->s[vr[k] - TEXT + e], 64, "%s", value[total++]);
        }
    return fmi3OK;
}

#ifdef NO_STATE
fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *s) { (void)c; (void)s; return fmi3Error; }
fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState s) { (void)c; (void)s; return fmi3Error; }
fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *s) { (void)c; (void)s; return fmi3Error; }
#else
fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *s) {
    if (!*s) { *s = malloc(sizeof(Instance)); states++; }
    memcpy(*s, c, sizeof(Instance));
    return fmi3OK;
}
fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState s) { memcpy(c, s, sizeof(Instance)); return fmi3OK; }
fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *s) {
    (void)c;
    if (*s) { free(*s); states--; }
    *s = NULL;
    return fmi3OK;
}
#endif
fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState s, size_t *n) {
    (void)c; (void)s;
    *n = sizeof(Instance);
    return fmi3OK;
}
/* without what is of this instance alone */
fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState s, uint8_t b[], size_t n) {
    (void)c;
    if (n != sizeof(Instance)) return fmi3Error;
    memcpy(b, s, n);
    return fmi3OK;
}
fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const uint8_t b[], size_t n, fmi3FMUState *s) {
    Instance *u;
    if (n != sizeof(Instance)) return fmi3Error;
    u = malloc(sizeof(Instance));
    memcpy(u, b, n);
    u->log = ((Instance *)c)->log;
    u->environment = ((Instance *)c)->environment;
    states++;
    *s = u;
    return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance c, double t, double h, bool final, bool *events, bool *ends, bool *early,
                      double *reached) {
    Instance *u = c;
    fmi3Status status;
    (void)final;
    *events = *ends = *early = false;
    *reached = u->t;
    if (fabs(t - u->t) > 1e-9 * (1.0 + fabs(t))) { say(u, fmi3Error, "logStatusError", "the step does not begin where the last one ended"); return fmi3Error; }
#ifndef ANY_STEP
    if (!(h > 0.0)) { say(u, fmi3Error, "logStatusError", "the step is not positive"); return fmi3Error; }
#endif
#ifdef EARLY
    if (h > EARLY * (1.0 + 1e-9)) { h = EARLY; *early = true; }
#endif
    u->t = t;
    u->reached = t + h;
    status = (fmi3Status)advance(u, h);
    *reached = u->t = u->reached;
    *ends = u->terminated;
    /* in FMI 3.0 the end of a run is no discarded step */
    return u->terminated && status == fmi3Discard ? fmi3OK : status;
}

#include "others3.h"
