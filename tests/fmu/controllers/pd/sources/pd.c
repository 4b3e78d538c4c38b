/* A PD controller as an FMI 2.0 co-simulation FMU, by hand: a controller that has nothing to do with Python.
 *
 *     torque = bias + kp (reference - angle) - kd speed,  within +-limit
 *
 * The output depends on the inputs directly; the only state is the time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"

enum { REFERENCE, ANGLE, SPEED, TORQUE, KP, KD, BIAS, LIMIT, N_REALS };

typedef struct {
    fmi2Real r[N_REALS];
    fmi2Real time;
} State;

static const State initial = {{0.0, 0.0, 0.0, 0.0, 10.0, 1.0, 0.0, 100.0}, 0.0};

static State *state(fmi2Component c) { return (State *)c; }

static fmi2Real torque(const State *s)
{
    fmi2Real u = s->r[BIAS] + s->r[KP] * (s->r[REFERENCE] - s->r[ANGLE]) - s->r[KD] * s->r[SPEED];
    return fmin(fmax(u, -s->r[LIMIT]), s->r[LIMIT]);
}

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[])
{
    (void)c, (void)on, (void)n, (void)names;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)name, (void)guid, (void)resources, (void)functions, (void)visible, (void)logging;
    if (type != fmi2CoSimulation)
        return NULL;
    State *s = malloc(sizeof *s);
    if (s)
        *s = initial;
    return s;
}

void fmi2FreeInstance(fmi2Component c) { free(c); }

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean td, fmi2Real t, fmi2Real start, fmi2Boolean sd,
                               fmi2Real stop)
{
    (void)td, (void)t, (void)sd, (void)stop;
    state(c)->time = start;
    return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) { *state(c) = initial; return fmi2OK; }

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= N_REALS)
            return fmi2Error;
        value[i] = vr[i] == TORQUE ? torque(state(c)) : state(c)->r[vr[i]];
    }
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= N_REALS || vr[i] == TORQUE)
            return fmi2Error;
        state(c)->r[vr[i]] = value[i];
    }
    return fmi2OK;
}

#define NONE(name, type)                                                                                              \
    fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[])                           \
    {                                                                                                                 \
        (void)c, (void)vr, (void)value;                                                                               \
        return n ? fmi2Error : fmi2OK;                                                                                \
    }
NONE(fmi2GetInteger, fmi2Integer)
NONE(fmi2GetBoolean, fmi2Boolean)
NONE(fmi2GetString, fmi2String)
NONE(fmi2SetInteger, const fmi2Integer)
NONE(fmi2SetBoolean, const fmi2Boolean)
NONE(fmi2SetString, const fmi2String)

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *saved)
{
    if (!*saved)
        *saved = malloc(sizeof(State));
    if (!*saved)
        return fmi2Error;
    memcpy(*saved, c, sizeof(State));
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate saved)
{
    memcpy(c, saved, sizeof(State));
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *saved)
{
    (void)c;
    free(*saved);
    *saved = NULL;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate saved, size_t *size)
{
    (void)c, (void)saved;
    *size = sizeof(State);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate saved, fmi2Byte bytes[], size_t size)
{
    (void)c;
    if (size < sizeof(State))
        return fmi2Error;
    memcpy(bytes, saved, sizeof(State));
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *saved)
{
    if (size != sizeof(State))
        return fmi2Error;
    fmi2Status status = fmi2GetFMUstate(c, saved);
    if (status == fmi2OK)
        memcpy(*saved, bytes, size);
    return status;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference u[], size_t nu,
                                        const fmi2ValueReference k[], size_t nk, const fmi2Real dk[], fmi2Real du[])
{
    (void)c, (void)u, (void)nu, (void)k, (void)nk, (void)dk, (void)du;
    return fmi2Error;
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    (void)c, (void)vr, (void)n, (void)order, (void)value;
    return fmi2Error;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                        const fmi2Integer order[], fmi2Real value[])
{
    (void)c, (void)vr, (void)n, (void)order, (void)value;
    return fmi2Error;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_rollback)
{
    (void)no_rollback;
    if (!(h > 0.0))
        return fmi2Error;
    state(c)->time = t + h;
    return fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c) { (void)c; return fmi2Error; }

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = state(c)->time;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    (void)c;
    if (kind != fmi2Terminated)
        return fmi2Discard;
    *value = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}
