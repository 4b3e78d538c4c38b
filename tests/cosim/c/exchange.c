/* An FMU for model exchange around one model, of FMI 2.0, or with -DFMI=3 of FMI 3.0: compiled with -DMODEL="file.h".

   A model has NX states x[], NZ event indicators and NR reals r[], which are all its variables, and defines start (values
   before initialisation), initialise, rates (dx from t, x and r), indicators, event (in event mode; it may change all, say
   when the next time event is and end the run), outputs, and completed (whether a step event is due).  References: r[] from
   0, states from 100, derivatives from 200. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "fmi3Functions.h"

#define NR 16
/* USED is how many of the reals have references */
enum { NEW, INITIALISING, EVENTS, CONTINUOUS, TERMINATED };

typedef struct {
    double t, x[8], r[NR], next;
    /* whether there is a time event, an event ends the run, or states were changed */
    int timed, ends, changed, mode;
    const fmi2CallbackFunctions *call;
    fmi3LogMessageCallback log;
    void *environment;
    char name[64];
} Instance;

static void say(Instance *u, int status, const char *text) {
    if (u->call) u->call->logger(u->call->componentEnvironment, u->name, status, "logStatusError", "%s", text);
    if (u->log) u->log(u->environment, status, "logStatusError", text);
}

#include MODEL

static int alive = 0, states = 0;
int frame_alive(void) { return alive; }
int frame_states(void) { return states; }

static Instance *made(const char *name) {
    Instance *u = calloc(1, sizeof(Instance));
    snprintf(u->name, sizeof u->name, "%s", name);
    start(u);
    alive++;
    return u;
}
static int wrong(Instance *u, int allowed) {
    if (allowed >> u->mode & 1) return 0;
    say(u, 3, "the call is not allowed now");
    return 1;
}
#define IN(mode) (1 << (mode))
#define ANY (IN(INITIALISING) | IN(EVENTS) | IN(CONTINUOUS) | IN(TERMINATED))

static int get(Instance *u, const unsigned vr[], size_t n, double value[]) {
    double dx[8] = {0};
    if (wrong(u, ANY)) return 3;
    outputs(u);
    rates(u, dx);
    for (size_t k = 0; k < n; k++) {
        if (vr[k] < USED) value[k] = u->r[vr[k]];
        else if (vr[k] >= 100 && vr[k] < 100 + NX) value[k] = u->x[vr[k] - 100];
        else if (vr[k] >= 200 && vr[k] < 200 + NX) value[k] = dx[vr[k] - 200];
        else return 3;
    }
    return 0;
}
/* continuous inputs at any time, all others in event mode and before the run */
static int set(Instance *u, const unsigned vr[], size_t n, const double value[]) {
    for (size_t k = 0; k < n; k++) {
        if (vr[k] >= USED || !isfinite(value[k])) { say(u, 3, "that cannot be set"); return 3; }
        if (wrong(u, IN(NEW) | IN(INITIALISING) | IN(EVENTS) | (vr[k] == INPUT ? IN(CONTINUOUS) : 0))) return 3;
        u->r[vr[k]] = value[k];
    }
    return 0;
}
static int step_to(Instance *u, int from, int to) {
    if (wrong(u, from)) return 3;
    if (to == INITIALISING) initialise(u);
    u->mode = to;
    return 0;
}
static int enter(Instance *u, double t) { u->t = t; return 0; }
static int update(Instance *u) {
    if (wrong(u, IN(EVENTS))) return 3;
    u->changed = u->timed = 0;
    event(u);
    return 0;
}
static int complete(Instance *u, int *wants) {
    if (wrong(u, IN(CONTINUOUS))) return 3;
    *wants = completed(u);
    return 0;
}
static int put(Instance *u, const double x[], size_t n) {
    if (wrong(u, IN(CONTINUOUS)) || n != NX) return 3;
    memcpy(u->x, x, n * sizeof *x);
    return 0;
}
static int take(Instance *u, double x[], size_t n, int what) {
    double dx[8] = {0}, z[8] = {0};
    if (wrong(u, ANY) || n != (what == 2 ? NZ : NX)) return 3;
    if (what == 1) {
        int status = rates(u, dx);
        memcpy(x, dx, n * sizeof *x);
        return status;
    }
    if (what == 2) indicators(u, z);
    for (size_t k = 0; k < n; k++) x[k] = what == 0 ? u->x[k] : what == 2 ? z[k] : NOMINAL;
    return 0;
}
static int save(Instance *u, void **s) {
    if (!*s) { *s = malloc(sizeof *u); states++; }
    memcpy(*s, u, sizeof *u);
    return 0;
}
static int release(void **s) {
    if (*s) { free(*s); states--; }
    *s = NULL;
    return 0;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#if FMI == 2
typedef fmi2Component C;
typedef fmi2Status S;
typedef const fmi2ValueReference *Refs;
#define E(n) { return fmi2Error; }
const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }
S fmi2SetDebugLogging(C c, fmi2Boolean on, size_t n, const fmi2String k[]) { return fmi2OK; }
C fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String where, const fmi2CallbackFunctions *call,
                  fmi2Boolean visible, fmi2Boolean logging) {
    Instance *u = made(name);
    u->call = call;
    return u;
}
void fmi2FreeInstance(C c) { alive--; free(c); }
S fmi2SetupExperiment(C c, fmi2Boolean td, fmi2Real tol, fmi2Real t0, fmi2Boolean sd, fmi2Real t1) { return enter(c, t0); }
S fmi2EnterInitializationMode(C c) { return step_to(c, IN(NEW), INITIALISING); }
S fmi2ExitInitializationMode(C c) { return step_to(c, IN(INITIALISING), EVENTS); }
S fmi2Terminate(C c) { return step_to(c, IN(EVENTS) | IN(CONTINUOUS), TERMINATED); }
S fmi2Reset(C c) {
    Instance *u = c, fresh = {.call = u->call};
    memcpy(fresh.name, u->name, sizeof fresh.name);
    *u = fresh;
    start(u);
    return fmi2OK;
}
S fmi2GetReal(C c, Refs vr, size_t n, fmi2Real v[]) { return get(c, vr, n, v); }
S fmi2SetReal(C c, Refs vr, size_t n, const fmi2Real v[]) { return set(c, vr, n, v); }
S fmi2GetInteger(C c, Refs vr, size_t n, fmi2Integer v[]) E()
S fmi2GetBoolean(C c, Refs vr, size_t n, fmi2Boolean v[]) E()
S fmi2GetString(C c, Refs vr, size_t n, fmi2String v[]) E()
S fmi2SetInteger(C c, Refs vr, size_t n, const fmi2Integer v[]) E()
S fmi2SetBoolean(C c, Refs vr, size_t n, const fmi2Boolean v[]) E()
S fmi2SetString(C c, Refs vr, size_t n, const fmi2String v[]) E()
S fmi2GetFMUstate(C c, fmi2FMUstate *s) { return save(c, s); }
S fmi2SetFMUstate(C c, fmi2FMUstate s) { memcpy(c, s, sizeof(Instance)); return fmi2OK; }
S fmi2FreeFMUstate(C c, fmi2FMUstate *s) { return release(s); }
S fmi2SerializedFMUstateSize(C c, fmi2FMUstate s, size_t *n) E()
S fmi2SerializeFMUstate(C c, fmi2FMUstate s, fmi2Byte b[], size_t n) E()
S fmi2DeSerializeFMUstate(C c, const fmi2Byte b[], size_t n, fmi2FMUstate *s) E()
S fmi2GetDirectionalDerivative(C c, Refs a, size_t n, Refs b, size_t m, const fmi2Real x[], fmi2Real y[]) E()
S fmi2EnterEventMode(C c) { return step_to(c, IN(CONTINUOUS), EVENTS); }
S fmi2EnterContinuousTimeMode(C c) { return step_to(c, IN(EVENTS), CONTINUOUS); }
S fmi2NewDiscreteStates(C c, fmi2EventInfo *info) {
    Instance *u = c;
    memset(info, 0, sizeof *info);
    if (update(u)) return fmi2Error;
    info->terminateSimulation = u->ends;
    info->valuesOfContinuousStatesChanged = u->changed;
    info->nextEventTimeDefined = u->timed;
    info->nextEventTime = u->next;
    return fmi2OK;
}
S fmi2CompletedIntegratorStep(C c, fmi2Boolean final, fmi2Boolean *wants, fmi2Boolean *ends) {
    *ends = fmi2False;
    return complete(c, wants);
}
S fmi2SetTime(C c, fmi2Real t) { return wrong(c, IN(CONTINUOUS)) ? fmi2Error : enter(c, t); }
S fmi2SetContinuousStates(C c, const fmi2Real x[], size_t n) { return put(c, x, n); }
S fmi2GetContinuousStates(C c, fmi2Real x[], size_t n) { return take(c, x, n, 0); }
S fmi2GetDerivatives(C c, fmi2Real x[], size_t n) { return take(c, x, n, 1); }
S fmi2GetEventIndicators(C c, fmi2Real x[], size_t n) { return take(c, x, n, 2); }
S fmi2GetNominalsOfContinuousStates(C c, fmi2Real x[], size_t n) { return take(c, x, n, 3); }
#else
typedef fmi3Instance C;
typedef fmi3Status S;
typedef fmi3ValueReference Ref;
typedef const Ref *Refs;
const char *fmi3GetVersion(void) { return "3.0"; }
S fmi3SetDebugLogging(C c, bool on, size_t n, const fmi3String k[]) { return fmi3OK; }
C fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String path, bool visible, bool logging,
                               void *environment, fmi3LogMessageCallback log) {
    Instance *u = made(name);
    u->log = log;
    u->environment = environment;
    return u;
}
void fmi3FreeInstance(C c) { alive--; free(c); }
S fmi3EnterInitializationMode(C c, bool td, double tol, double t0, bool sd, double t1) {
    enter(c, t0);
    return step_to(c, IN(NEW), INITIALISING);
}
S fmi3ExitInitializationMode(C c) { return step_to(c, IN(INITIALISING), EVENTS); }
S fmi3Terminate(C c) { return step_to(c, IN(EVENTS) | IN(CONTINUOUS), TERMINATED); }
S fmi3Reset(C c) {
    Instance *u = c, fresh = {.log = u->log, .environment = u->environment};
    memcpy(fresh.name, u->name, sizeof fresh.name);
    *u = fresh;
    start(u);
    return fmi3OK;
}
S fmi3GetFloat64(C c, Refs vr, size_t n, double v[], size_t m) { return n != m ? fmi3Error : get(c, vr, n, v); }
S fmi3SetFloat64(C c, Refs vr, size_t n, const double v[], size_t m) { return n != m ? fmi3Error : set(c, vr, n, v); }
S fmi3GetFMUState(C c, fmi3FMUState *s) { return save(c, s); }
S fmi3SetFMUState(C c, fmi3FMUState s) { memcpy(c, s, sizeof(Instance)); return fmi3OK; }
S fmi3FreeFMUState(C c, fmi3FMUState *s) { return release(s); }
S fmi3EnterEventMode(C c) { return step_to(c, IN(CONTINUOUS), EVENTS); }
S fmi3EnterContinuousTimeMode(C c) { return step_to(c, IN(EVENTS), CONTINUOUS); }
S fmi3UpdateDiscreteStates(C c, bool *again, bool *ends, bool *nominals, bool *values, bool *timed, double *next) {
    Instance *u = c;
    *again = *nominals = false;
    if (update(u)) return fmi3Error;
    *ends = u->ends, *values = u->changed, *timed = u->timed, *next = u->next;
    return fmi3OK;
}
S fmi3CompletedIntegratorStep(C c, bool final, bool *wants, bool *ends) {
    int due = 0;
    S status = complete(c, &due);
    *wants = due, *ends = false;
    return status;
}
S fmi3SetTime(C c, double t) { return wrong(c, IN(CONTINUOUS)) ? fmi3Error : enter(c, t); }
S fmi3SetContinuousStates(C c, const double x[], size_t n) { return put(c, x, n); }
S fmi3GetContinuousStates(C c, double x[], size_t n) { return take(c, x, n, 0); }
S fmi3GetContinuousStateDerivatives(C c, double x[], size_t n) { return take(c, x, n, 1); }
S fmi3GetEventIndicators(C c, double x[], size_t n) { return take(c, x, n, 2); }
S fmi3GetNominalsOfContinuousStates(C c, double x[], size_t n) { return take(c, x, n, 3); }
S fmi3GetNumberOfEventIndicators(C c, size_t *n) { *n = NZ; return fmi3OK; }
S fmi3GetNumberOfContinuousStates(C c, size_t *n) { *n = NX; return fmi3OK; }
#define HAS_EXCHANGE
#include "others3.h"
#endif
