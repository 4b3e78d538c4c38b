/* An FMI 2.0 co-simulation FMU around one model: compiled with -DMODEL="file.h", once per model.

   A model has NR reals r[], which are all its variables, hidden states too, and defines start (values before
   initialisation), initialise (states from parameters), outputs (from states and inputs) and advance (one
   communication step; inputs change at the rates rate[]).  ints, bools and strings are there for all.  With ANY_STEP,
   advance is also called for steps that are not positive. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"

#ifndef NR
#define NR 16
#endif
#define NI 4
/* How many of the reals have references. */
#ifndef USED
#define USED NR
#endif

enum { NEW, INITIALISING, STEPPING };

typedef struct {
    double r[NR], rate[NR];
    int i[NI], b[NI];
    char s[2][64];
    double t, reached;
    int terminated, mode;
    const fmi2CallbackFunctions *call;
    char name[64];
    int logging;
} Instance;

static void say(Instance *u, fmi2Status status, const char *category, const char *text) {
    if (u->logging || status > fmi2Warning) u->call->logger(u->call->componentEnvironment, u->name, status, category, "%s", text);
}

#include MODEL

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String k[]) {
    (void)n; (void)k;
    ((Instance *)c)->logging = on;
    return fmi2OK;
}

static int alive = 0;
/* how many instances there are: exported for the tests */
int frame_alive(void) { return alive; }

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String where,
                              const fmi2CallbackFunctions *call, fmi2Boolean visible, fmi2Boolean logging) {
    Instance *u;
    if (!strncmp(name, "refused", 7)) {
        call->logger(call->componentEnvironment, name, fmi2Error, "logStatusError", "no licence for %s", name);
        return NULL;
    }
    u = calloc(1, sizeof(Instance));
    (void)type; (void)guid; (void)where; (void)visible;
    u->call = call;
    u->logging = logging;
    snprintf(u->name, sizeof u->name, "%s", name);
    start(u);
    alive++;
    say(u, fmi2OK, "logAll", "instantiated");
    return u;
}
void fmi2FreeInstance(fmi2Component c) { alive--; free(c); }

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean td, fmi2Real tol, fmi2Real t0, fmi2Boolean sd, fmi2Real t1) {
    (void)td; (void)tol; (void)sd; (void)t1;
    ((Instance *)c)->t = ((Instance *)c)->reached = t0;
    return fmi2OK;
}
static fmi2Status next(Instance *u, int from, int to) {
    if (u->mode != from) { say(u, fmi2Error, "logStatusError", "the call is not allowed now"); return fmi2Error; }
    u->mode = to;
    initialise(u);
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return next(c, NEW, INITIALISING); }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return next(c, INITIALISING, STEPPING); }
fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) {
    Instance *u = c, fresh = {.call = u->call, .logging = u->logging};
    memcpy(fresh.name, u->name, sizeof fresh.name);
    *u = fresh;
    start(u);
    return fmi2OK;
}

#define GET(Name, Type, field, limit)                                                                        \
    fmi2Status fmi2Get##Name(fmi2Component c, const fmi2ValueReference vr[], size_t n, Type value[]) {       \
        Instance *u = c;                                                                                         \
        outputs(u);                                                                                          \
        for (size_t k = 0; k < n; k++) {                                                                     \
            if (vr[k] >= limit) return fmi2Error;                                                            \
            value[k] = u->field[vr[k]];                                                                      \
        }                                                                                                    \
        return fmi2OK;                                                                                       \
    }
#define SET(Name, Type, field, limit)                                                                        \
    fmi2Status fmi2Set##Name(fmi2Component c, const fmi2ValueReference vr[], size_t n, const Type value[]) { \
        Instance *u = c;                                                                                         \
        for (size_t k = 0; k < n; k++) {                                                                     \
            if (vr[k] >= limit) return fmi2Error;                                                            \
            u->field[vr[k]] = value[k];                                                                      \
        }                                                                                                    \
        return fmi2OK;                                                                                       \
    }
GET(Real, fmi2Real, r, USED)
GET(Integer, fmi2Integer, i, NI)
GET(Boolean, fmi2Boolean, b, NI)
SET(Integer, fmi2Integer, i, NI)
SET(Boolean, fmi2Boolean, b, NI)

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    Instance *u = c;
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= USED) return fmi2Error;
        if (!isfinite(value[k])) { say(u, fmi2Error, "logStatusError", "a real input is not finite"); return fmi2Error; }
        u->r[vr[k]] = value[k];
        /* FMI 2.0: a new value of an input resets its derivatives */
        u->rate[vr[k]] = 0.0;
    }
    return fmi2OK;
}
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[]) {
    outputs(c);
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= 2) return fmi2Error;
        value[k] = ((Instance *)c)->s[vr[k]];
    }
    return fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[]) {
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= 2) return fmi2Error;
        snprintf(((Instance *)c)->s[vr[k]], 64, "%s", value[k]);
    }
    return fmi2OK;
}

static int states = 0;
/* how many saved states there are: exported for the tests */
int frame_states(void) { return states; }

#ifdef NO_STATE
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *s) { (void)c; (void)s; return fmi2Error; }
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate s) { (void)c; (void)s; return fmi2Error; }
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *s) { (void)c; (void)s; return fmi2Error; }
#else
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *s) {
    if (!*s) { *s = malloc(sizeof(Instance)); states++; }
    memcpy(*s, c, sizeof(Instance));
    return fmi2OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate s) { memcpy(c, s, sizeof(Instance)); return fmi2OK; }
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *s) {
    (void)c;
    if (*s) { free(*s); states--; }
    *s = NULL;
    return fmi2OK;
}
#endif
fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate s, size_t *n) { (void)c; (void)s; (void)n; return fmi2Error; }
fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n) { (void)c; (void)s; (void)b; (void)n; return fmi2Error; }
fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate *s) { (void)c; (void)s; (void)b; (void)n; return fmi2Error; }
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference a[], size_t n, const fmi2ValueReference b[],
                                        size_t m, const fmi2Real x[], fmi2Real y[]) {
    (void)c; (void)a; (void)n; (void)b; (void)m; (void)x; (void)y;
    return fmi2Error;
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[],
                                       const fmi2Real value[]) {
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= NR || order[k] != 1) return fmi2Error;
        ((Instance *)c)->rate[vr[k]] = value[k];
    }
    return fmi2OK;
}
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[],
                                        fmi2Real value[]) {
    (void)c; (void)vr; (void)n; (void)order; (void)value;
    return fmi2Error;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_rollback) {
    Instance *u = c;
    fmi2Status status;
    (void)no_rollback;
    if (fabs(t - u->t) > 1e-9 * (1.0 + fabs(t))) { say(u, fmi2Error, "logStatusError", "the step does not begin where the last one ended"); return fmi2Error; }
#ifndef ANY_STEP
    if (!(h > 0.0)) { say(u, fmi2Error, "logStatusError", "the step is not positive"); return fmi2Error; }
#endif
    u->t = t;
    u->reached = t + h;
    status = advance(u, h);
    u->t = u->reached;
    return status;
}
fmi2Status fmi2CancelStep(fmi2Component c) { (void)c; return fmi2Error; }
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind k, fmi2Status *v) { (void)c; (void)k; (void)v; return fmi2Discard; }
fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind k, fmi2Real *v) {
    if (k != fmi2LastSuccessfulTime) return fmi2Discard;
    *v = ((Instance *)c)->reached;
    return fmi2OK;
}
fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind k, fmi2Integer *v) { (void)c; (void)k; (void)v; return fmi2Discard; }
fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind k, fmi2Boolean *v) {
    if (k != fmi2Terminated) return fmi2Discard;
    *v = ((Instance *)c)->terminated;
    return fmi2OK;
}
fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind k, fmi2String *v) { (void)c; (void)k; (void)v; return fmi2Discard; }
