/* Calls FMI 3.0's functions in any order with any arguments, beside an instance that is driven as it should be.
 *
 * Instances that are called so are for co-simulation, with and without events, early return and intermediate updates,
 * or for model exchange, in turns.
 *
 *     fuzz3 LIBRARY RESOURCES TOKEN CALLS SEED INPUT OUTPUT VARIABLES
 *
 * The other instance must not notice.  Memory is watched by whoever compiles this: sanitizers.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *Any;
typedef unsigned Reference;

static uint64_t seed;
static unsigned any_of(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static double any_number(void)
{
    static const double odd[] = {0.0, -0.0, 1e-320, 1e300, -1e300, NAN, INFINITY, -INFINITY, 1.0, -3.5};
    return any_of(3) ? any_of(1000) / 500.0 - 1.0 : odd[any_of(10)];
}

static void log_message(Any e, int status, const char *category, const char *message)
{
    /* read as a host would */
    *(size_t *)e += (size_t)status + (category ? strlen(category) : 0) + strlen(message);
}

#define FIND(type, name, ...) static type (*name)(__VA_ARGS__)
FIND(Any, fmi3InstantiateCoSimulation, const char *, const char *, const char *, bool, bool, bool, bool, const Reference *, size_t, Any, Any, Any);
FIND(void, fmi3FreeInstance, Any);
FIND(int, fmi3EnterInitializationMode, Any, bool, double, double, bool, double);
FIND(int, fmi3ExitInitializationMode, Any);
FIND(int, fmi3Terminate, Any);
FIND(int, fmi3Reset, Any);
FIND(int, fmi3SetDebugLogging, Any, bool, size_t, const char *const *);
FIND(int, fmi3GetFloat64, Any, const Reference *, size_t, double *, size_t);
FIND(int, fmi3SetFloat64, Any, const Reference *, size_t, const double *, size_t);
FIND(int, fmi3GetString, Any, const Reference *, size_t, const char **, size_t);
FIND(int, fmi3SetString, Any, const Reference *, size_t, const char *const *, size_t);
FIND(int, fmi3GetInt32, Any, const Reference *, size_t, int32_t *, size_t);
FIND(int, fmi3GetFMUState, Any, Any *);
FIND(int, fmi3SetFMUState, Any, Any);
FIND(int, fmi3FreeFMUState, Any, Any *);
FIND(int, fmi3SerializedFMUStateSize, Any, Any, size_t *);
FIND(int, fmi3SerializeFMUState, Any, Any, uint8_t *, size_t);
FIND(int, fmi3DeserializeFMUState, Any, const uint8_t *, size_t, Any *);
FIND(int, fmi3GetDirectionalDerivative, Any, const Reference *, size_t, const Reference *, size_t, const double *, size_t, double *, size_t);
FIND(int, fmi3GetAdjointDerivative, Any, const Reference *, size_t, const Reference *, size_t, const double *, size_t, double *, size_t);
FIND(int, fmi3GetOutputDerivatives, Any, const Reference *, size_t, const int32_t *, double *, size_t);
FIND(int, fmi3DoStep, Any, double, double, bool, bool *, bool *, bool *, double *);
FIND(Any, fmi3InstantiateModelExchange, const char *, const char *, const char *, bool, bool, Any, Any);
FIND(int, fmi3EnterEventMode, Any);
FIND(int, fmi3EnterStepMode, Any);
FIND(int, fmi3EnterContinuousTimeMode, Any);
FIND(int, fmi3UpdateDiscreteStates, Any, bool *, bool *, bool *, bool *, bool *, double *);
FIND(int, fmi3EvaluateDiscreteStates, Any);
FIND(int, fmi3SetTime, Any, double);
FIND(int, fmi3GetNumberOfContinuousStates, Any, size_t *);
FIND(int, fmi3GetContinuousStates, Any, double *, size_t);
FIND(int, fmi3SetContinuousStates, Any, const double *, size_t);
FIND(int, fmi3GetContinuousStateDerivatives, Any, double *, size_t);
FIND(int, fmi3GetNominalsOfContinuousStates, Any, double *, size_t);
FIND(int, fmi3CompletedIntegratorStep, Any, bool, bool *, bool *);
FIND(int, fmi3GetNumberOfEventIndicators, Any, size_t *);
FIND(int, fmi3GetEventIndicators, Any, double *, size_t);
#define ALL(X)                                                                                                         \
    X(fmi3InstantiateCoSimulation) X(fmi3FreeInstance) X(fmi3EnterInitializationMode) X(fmi3ExitInitializationMode)    \
    X(fmi3Terminate) X(fmi3Reset) X(fmi3SetDebugLogging) X(fmi3GetFloat64) X(fmi3SetFloat64) X(fmi3GetString)          \
    X(fmi3SetString) X(fmi3GetInt32) X(fmi3GetFMUState) X(fmi3SetFMUState) X(fmi3FreeFMUState)                         \
    X(fmi3SerializedFMUStateSize) X(fmi3SerializeFMUState) X(fmi3DeserializeFMUState) X(fmi3GetDirectionalDerivative)  \
    X(fmi3GetAdjointDerivative) X(fmi3GetOutputDerivatives) X(fmi3DoStep) X(fmi3InstantiateModelExchange)              \
    X(fmi3EnterEventMode) X(fmi3EnterStepMode) X(fmi3EnterContinuousTimeMode) X(fmi3UpdateDiscreteStates)              \
    X(fmi3EvaluateDiscreteStates) X(fmi3SetTime) X(fmi3GetNumberOfContinuousStates) X(fmi3GetContinuousStates)         \
    X(fmi3SetContinuousStates) X(fmi3GetContinuousStateDerivatives) X(fmi3GetNominalsOfContinuousStates)               \
    X(fmi3CompletedIntegratorStep) X(fmi3GetNumberOfEventIndicators) X(fmi3GetEventIndicators)

enum { MOST = 6, ROOM = 64, STATES = 4 };
static unsigned variables;
static Reference input, output;

/* Up to MOST references, mostly of variables. */
static size_t references(Reference *into)
{
    size_t n = any_of(MOST + 1);
    for (size_t k = 0; k < n; k++)
        into[k] = any_of(8) ? any_of(3) ? any_of(variables + 2) : any_of(2) ? input : output : 0xfffffff0u + any_of(16);
    return n;
}

static double now;
static Any states[STATES];
static enum { PLAIN, EVENTS, EXCHANGE } kind;
static Any updated;

/* Where an internal step ends: reads, and calls what is not allowed here. */
static void intermediate(Any e, double t, bool set, bool get, bool finished, bool may, bool *early, double *wish)
{
    double y;
    (void)e, (void)set, (void)finished;
    if (get && any_of(2))
        fmi3GetFloat64(updated, &output, 1, &y, 1);
    if (!any_of(200))
        fmi3SetFloat64(updated, &input, 1, &t, 1);
    *early = may && !any_of(4), *wish = any_of(2) ? t : any_number();
}

/* Of events and model exchange. */
static int call_more(Any c)
{
    double x[ROOM], next = 0.0;
    bool flags[5];
    size_t n = 0, room = ROOM;
    for (size_t k = 0; k < ROOM; k++)
        x[k] = any_of(50) ? any_of(1000) / 500.0 - 1.0 : any_number();
    switch (any_of(15)) {
    case 0:
        return fmi3EnterEventMode(c);
    case 1:
        return fmi3EnterStepMode(c);
    case 2:
    case 3:
        return fmi3EnterContinuousTimeMode(c);
    case 4:
        return fmi3UpdateDiscreteStates(c, flags, flags + 1, flags + 2, flags + 3, flags + 4, any_of(20) ? &next : NULL);
    case 5:
        return fmi3EvaluateDiscreteStates(c);
    case 6:
        return fmi3SetTime(c, now += any_of(20) ? 0.001 : any_number());
    case 7:
        return fmi3GetNumberOfContinuousStates(c, any_of(20) ? &n : NULL);
    case 8:
        return fmi3CompletedIntegratorStep(c, any_of(2), flags, any_of(20) ? flags + 1 : NULL);
    case 9:
        return fmi3GetNumberOfEventIndicators(c, &n) | fmi3GetEventIndicators(c, x, n);
    default:
        if (fmi3GetNumberOfContinuousStates(c, &n) || n > ROOM)
            return 3;
        room = any_of(8) ? n : any_of(ROOM);
        switch (any_of(5)) {
        case 0:
            return fmi3GetNominalsOfContinuousStates(c, x, room);
        case 1:
            return fmi3GetContinuousStates(c, x, room) | fmi3SetContinuousStates(c, x, room);
        case 2:
            return fmi3SetContinuousStates(c, x, room);
        default:
            return fmi3GetContinuousStateDerivatives(c, any_of(20) ? x : NULL, room);
        }
    }
}

static int call(Any c)
{
    Reference a[MOST], b[MOST];
    double x[ROOM], y[ROOM];
    const char *texts[ROOM];
    int32_t orders[MOST];
    bool flags[3];
    double reached = 0.0;
    size_t n = references(a), m = references(b), size = any_of(4) ? n : any_of(ROOM);
    for (size_t k = 0; k < ROOM; k++)
        x[k] = any_number(), texts[k] = any_of(4) ? any_of(2) ? "rkmk-4" : "hold" : any_of(2) ? "" : "\xff%s%n";
    for (size_t k = 0; k < MOST; k++)
        orders[k] = (int32_t)any_of(4);
    Any *state = states + any_of(STATES);
    if (any_of(3) < (unsigned)kind)
        return call_more(c);
    switch (any_of(20)) {
    case 0:
        return fmi3EnterInitializationMode(c, any_of(2), any_number(), any_of(2) ? 0.0 : any_number(), any_of(2), 10.0);
    case 1:
        return fmi3ExitInitializationMode(c);
    case 2:
        return any_of(8) ? 0 : fmi3Terminate(c);
    case 3:
        now = 0.0;
        return fmi3Reset(c) | fmi3EnterInitializationMode(c, false, 0.0, 0.0, false, 0.0) | fmi3ExitInitializationMode(c);
    case 4:
        return fmi3SetDebugLogging(c, any_of(2), any_of(3), texts);
    case 5:
        return fmi3GetFloat64(c, any_of(20) ? a : NULL, n, any_of(20) ? y : NULL, size);
    case 6:
        return fmi3SetFloat64(c, any_of(20) ? a : NULL, n, any_of(20) ? x : NULL, size);
    case 7:
        return fmi3SetFloat64(c, &input, 1, x, 1);
    case 8:
        return fmi3GetString(c, a, n, texts, size);
    case 9:
        return fmi3SetString(c, a, n, texts, size);
    case 10:
        return fmi3GetInt32(c, a, n, orders, n);
    case 11:
        return fmi3GetFMUState(c, state);
    case 12:
        return fmi3SetFMUState(c, *state);
    case 13:
        return fmi3FreeFMUState(c, state);
    case 14: {
        size_t bytes = 0;
        if (fmi3SerializedFMUStateSize(c, *state, &bytes))
            return 3;
        uint8_t *data = malloc(bytes + 1);
        int status = fmi3SerializeFMUState(c, *state, data, any_of(4) ? bytes : any_of((unsigned)bytes + 1));
        if (!status && !any_of(3))
            data[any_of((unsigned)bytes)] ^= (uint8_t)(1u << any_of(8));
        if (!status)
            status = fmi3DeserializeFMUState(c, data, any_of(3) ? bytes : any_of((unsigned)bytes), state);
        free(data);
        return status;
    }
    case 15:
        return fmi3GetDirectionalDerivative(c, a, n, b, m, x, any_of(2) ? m : any_of(ROOM), y, any_of(2) ? n : any_of(ROOM));
    case 16:
        return fmi3GetAdjointDerivative(c, a, n, b, m, x, any_of(2) ? n : any_of(ROOM), y, any_of(2) ? m : any_of(ROOM));
    case 17:
        return fmi3GetOutputDerivatives(c, a, n, orders, y, size);
    default: {
        double t = any_of(10) ? now : any_number(), h = any_of(10) ? 0.01 : any_number();
        int status = fmi3DoStep(c, t, h, any_of(2), flags, flags + 1, flags + 2, any_of(20) ? &reached : NULL);
        if (!status)
            now = t + h;
        return status;
    }
    }
}

static Any started(const char *const *words, Any heard)
{
    bool events = kind == EVENTS;
    Any log = (Any)(uintptr_t)log_message, update = events ? (Any)(uintptr_t)intermediate : NULL;
    Any c = kind == EXCHANGE
                ? fmi3InstantiateModelExchange("one", words[3], words[2], false, true, heard, log)
                : fmi3InstantiateCoSimulation("one", words[3], words[2], false, true, events, events, NULL, 0, heard, log, update);
    updated = c;
    if (!c || fmi3EnterInitializationMode(c, false, 0.0, 0.0, false, 0.0) || fmi3ExitInitializationMode(c))
        exit(3);
    return c;
}

static double stepped(Any c, int k)
{
    bool flags[3];
    double reached, x = (k % 7) / 70.0, y;
    if (fmi3SetFloat64(c, &input, 1, &x, 1) ||
        fmi3DoStep(c, k * 0.01, 0.01, true, flags, flags + 1, flags + 2, &reached) ||
        fmi3GetFloat64(c, &output, 1, &y, 1))
        exit(4);
    return y;
}

int main(int argc, char **argv)
{
    const char *const *words = (const char *const *)argv;
    Any library = argc < 9 ? NULL : dlopen(argv[1], RTLD_NOW);
    if (!library)
        return 2;
#define LOAD(name) *(Any *)(Any)&name = dlsym(library, #name);
    ALL(LOAD)
    int calls = atoi(argv[4]), steps = 100;
    seed = (uint64_t)atoi(argv[5]), input = (Reference)atoi(argv[6]), output = (Reference)atoi(argv[7]);
    variables = (unsigned)atoi(argv[8]);
    size_t heard = 0;
    double expected[100];
    Any c = started(words, &heard);
    for (int k = 0; k < steps; k++)
        expected[k] = stepped(c, k);
    fmi3FreeInstance(c);
    Any beside = started(words, &heard), walked = started(words, &heard);
    int counts[6] = {0};
    for (int k = 0; k < calls; k++) {
        int status = call(walked);
        if (status < 0 || status > 4)
            return 5;
        counts[status]++;
        if (k % (calls / steps) == 0 && k / (calls / steps) < steps) {
            double y = stepped(beside, k / (calls / steps));
            if (memcmp(&y, expected + k / (calls / steps), sizeof y))
                return 6;
        }
        /* a host that gave up on it */
        if (!any_of(500)) {
            memset(states, 0, sizeof states);
            fmi3FreeInstance(walked);
            kind = (kind + 1) % 3;
            walked = started(words, &heard), now = 0.0;
        }
    }
    fmi3FreeInstance(walked);
    fmi3FreeInstance(beside);
    for (int k = 0; k < 5; k++)
        printf("%d ", counts[k]);
    printf("%zu\n", heard);
    return 0;
}
