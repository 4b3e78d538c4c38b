/* FMI 3.0: the functions that hosts call.  Those that read and write variables are in variables3.c, those that belong to
 * model exchange alone in exchange3.c; what they do in every version of FMI is in life.c, with the same rules and the same
 * words.
 *
 * What is not offered, and is not said to be in the description: setting inputs in intermediate updates; clocks,
 * structural parameters, scheduled execution.
 */
#include "faces.h"
#include "system.h"

#include <stdbool.h>

/* ---- life */

EXPORT String fmi3GetVersion(void)
{
    return "3.0";
}

static Component instantiate(String function, Type type, String name, String token, String path, bool logging,
                             void *environment, LogMessage *log, String wrong)
{
    Instance *instance = new_instance(name, logging);
    if (!instance)
        return NULL;
    instance->host.environment = environment;
    instance->log_message = log;
    instance->type = type;
    char *folder = path ? path_of(path) : NULL;
    /* the standard wants a separator at the end */
    for (size_t n = folder ? length(folder) : 0; n > 1 && (folder[n - 1] == '/' || folder[n - 1] == '\\'); n--)
        folder[n - 1] = 0;
    Opening how = {
        .function = function,
        .argument = "resourcePath",
        .form = "path",
        .full_form = "absolute path",
        .location = path,
        .token_name = "instantiationToken",
        .token = token ? token : "",
    };
    instance = open_instance(instance, &how, folder, wrong);
    drop(folder);
    if (instance && !make_room(instance, instance->block.n + 1)) {
        free_instance(instance);
        return NULL;
    }
    return instance;
}

EXPORT Component fmi3InstantiateCoSimulation(String instanceName, String instantiationToken, String resourcePath,
                                             bool visible, bool loggingOn, bool eventModeUsed, bool earlyReturnAllowed,
                                             const Reference requiredIntermediateVariables[],
                                             size_t nRequiredIntermediateVariables, void *instanceEnvironment,
                                             LogMessage *logMessage, IntermediateUpdate *intermediateUpdate)
{
    (void)visible;
    String wrong = NULL;
    if (eventModeUsed && !inside.next_event)
        wrong = "fmi3InstantiateCoSimulation: eventModeUsed is true, but the FMU has no event mode.";
    else if (nRequiredIntermediateVariables && !(requiredIntermediateVariables && intermediateUpdate))
        wrong = "fmi3InstantiateCoSimulation: there are requiredIntermediateVariables, but requiredIntermediateVariables "
                "or intermediateUpdate is NULL.";
    Instance *instance = instantiate("fmi3InstantiateCoSimulation", CO_SIMULATION, instanceName, instantiationToken,
                                     resourcePath, loggingOn, instanceEnvironment, logMessage, wrong);
    if (!instance)
        return NULL;
    for (size_t k = 0; k < nRequiredIntermediateVariables; k++) {
        Reference r = requiredIntermediateVariables[k];
        if (r != instance->block.n && !stranger(&instance->block, &r, 1, IS_OUTPUT)) {
            refuse(instance, ERROR, "fmi3InstantiateCoSimulation", NO_SUCH, "intermediate variable", r, 0.0, 0.0);
            free_instance(instance);
            return NULL;
        }
    }
    instance->intermediate = intermediateUpdate, instance->early_allowed = earlyReturnAllowed;
    instance->event_mode = eventModeUsed;
    return instance;
}

EXPORT Component fmi3InstantiateModelExchange(String instanceName, String instantiationToken, String resourcePath,
                                              bool visible, bool loggingOn, void *instanceEnvironment,
                                              LogMessage *logMessage)
{
    (void)visible;
    String wrong = inside.get_rates
                       ? NULL
                       : "fmi3InstantiateModelExchange: the FMU is for co-simulation, not for model exchange.";
    return instantiate("fmi3InstantiateModelExchange", MODEL_EXCHANGE, instanceName, instantiationToken, resourcePath,
                       loggingOn, instanceEnvironment, logMessage, wrong);
}

EXPORT Component fmi3InstantiateScheduledExecution(String instanceName, String instantiationToken, String resourcePath,
                                                   bool visible, bool loggingOn, void *instanceEnvironment,
                                                   LogMessage *logMessage, void *clockUpdate, void *lockPreemption,
                                                   void *unlockPreemption)
{
    (void)visible, (void)clockUpdate, (void)lockPreemption, (void)unlockPreemption;
    return instantiate("fmi3InstantiateScheduledExecution", CO_SIMULATION, instanceName, instantiationToken,
                       resourcePath, loggingOn, instanceEnvironment, logMessage,
                       "fmi3InstantiateScheduledExecution: the FMU is not for scheduled execution.");
}

EXPORT void fmi3FreeInstance(Component c)
{
    free_instance(c);
}

EXPORT Status fmi3SetDebugLogging(Component c, bool loggingOn, size_t nCategories, const String categories[])
{
    BEGIN("fmi3SetDebugLogging", ALWAYS);
    return set_debug_logging(instance, name, loggingOn, nCategories, categories);
}

EXPORT Status fmi3EnterInitializationMode(Component c, bool toleranceDefined, Real tolerance, Real startTime,
                                          bool stopTimeDefined, Real stopTime)
{
    BEGIN("fmi3EnterInitializationMode", NEW);
    Status status = set_times(instance, name, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime);
    if (status)
        return status;
    return changed_to(instance, INITIALISING, answered(instance, name, inside.enter(instance)));
}

EXPORT Status fmi3ExitInitializationMode(Component c)
{
    BEGIN("fmi3ExitInitializationMode", INITIALISING);
    return changed_to(instance, instance->type == MODEL_EXCHANGE ? EVENT : instance->event_mode ? HANDLING : STEPPING,
                      answered(instance, name, inside.leave(instance)));
}

EXPORT Status fmi3Terminate(Component c)
{
    BEGIN("fmi3Terminate", STEPPING | FAILED | EVENT | CONTINUOUS | HANDLING);
    return changed_to(instance, TERMINATED, answered(instance, name, inside.terminate(instance)));
}

EXPORT Status fmi3EnterEventMode(Component c)
{
    BEGIN("fmi3EnterEventMode", ALWAYS);
    if (instance->type == CO_SIMULATION && !instance->event_mode)
        return refuse(instance, ERROR, name, NOT_OFFERED, NULL, 0, 0.0, 0.0);
    if (!(block->mode & (instance->type == MODEL_EXCHANGE ? CONTINUOUS | EVENT : STEPPING | HANDLING)))
        return refuse(instance, ERROR, name, NOT_NOW, NULL, 0, 0.0, 0.0);
    block->mode = instance->type == MODEL_EXCHANGE ? EVENT : HANDLING;
    return OK;
}

EXPORT Status fmi3EnterStepMode(Component c)
{
    BEGIN("fmi3EnterStepMode", ALWAYS);
    if (instance->type == MODEL_EXCHANGE || !instance->event_mode)
        return refuse(instance, ERROR, name, NOT_PROVIDED, "the instance has no event mode of co-simulation", 0, 0.0,
                      0.0);
    if (block->mode != HANDLING)
        return refuse(instance, ERROR, name, NOT_NOW, NULL, 0, 0.0, 0.0);
    block->mode = STEPPING;
    return OK;
}

EXPORT Status fmi3Reset(Component c)
{
    BEGIN("fmi3Reset", ALWAYS);
    return reset(instance, name);
}

/* ---- steps */

/* A step that cannot get to its end is discarded, with the time that it got to.  It returns early where the host wished
 * so in an intermediate update, and at the first event of a host that handles events: a time at which inputs inside the
 * model jump.  Internal steps end there in any case, so that the motion has the same bits. */
EXPORT Status fmi3DoStep(Component c, Real currentCommunicationPoint, Real communicationStepSize,
                         bool noSetFMUStatePriorToCurrentPoint, bool *eventHandlingNeeded, bool *terminateSimulation,
                         bool *earlyReturn, Real *lastSuccessfulTime)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    BEGIN("fmi3DoStep", STEPPING);
    NOT_NULL(eventHandlingNeeded);
    NOT_NULL(terminateSimulation);
    NOT_NULL(earlyReturn);
    NOT_NULL(lastSuccessfulTime);
    Real t = currentCommunicationPoint, size = communicationStepSize, next = 0.0;
    int event = 0, before = 0;
    if (instance->event_mode && finite(t) && size > 0.0) {
        Status found = answered(instance, name, inside.next_event(instance, t, &next));
        /* without leave to return early a step goes across events, but may end at one */
        while (!found && !instance->early_allowed && next < t + size)
            found = answered(instance, name, inside.next_event(instance, next, &next));
        if (found)
            return found;
        before = next < t + size;
        event = before || next == t + size;
    }
    Status status = do_step(instance, name, t, before ? next - t : size);
    int done = status < DISCARD, wished = done && instance->early;
    *eventHandlingNeeded = done && event && !wished;
    *terminateSimulation = false;
    *earlyReturn = wished || (done && before);
    *lastSuccessfulTime = block->time;
    return status;
}

/* ---- state */

EXPORT Status fmi3GetFMUState(Component c, State *FMUState)
{
    BEGIN("fmi3GetFMUState", ALWAYS);
    NOT_NULL(FMUState);
    return hand_out_state(instance, name, FMUState);
}

EXPORT Status fmi3SetFMUState(Component c, State FMUState)
{
    BEGIN("fmi3SetFMUState", ALWAYS);
    return put_back_state(instance, name, FMUState);
}

EXPORT Status fmi3FreeFMUState(Component c, State *FMUState)
{
    BEGIN("fmi3FreeFMUState", ALWAYS);
    return release_state(instance, name, FMUState);
}

EXPORT Status fmi3SerializedFMUStateSize(Component c, State FMUState, size_t *size)
{
    BEGIN("fmi3SerializedFMUStateSize", ALWAYS);
    NOT_NULL(size);
    return size_of_state(instance, name, FMUState, size);
}

EXPORT Status fmi3SerializeFMUState(Component c, State FMUState, uint8_t serializedState[], size_t size)
{
    BEGIN("fmi3SerializeFMUState", ALWAYS);
    NOT_NULL(serializedState);
    return write_state(instance, name, FMUState, (Byte *)serializedState, size);
}

EXPORT Status fmi3DeserializeFMUState(Component c, const uint8_t serializedState[], size_t size, State *FMUState)
{
    BEGIN("fmi3DeserializeFMUState", ALWAYS);
    NOT_NULL(serializedState);
    NOT_NULL(FMUState);
    return read_state(instance, name, (const Byte *)serializedState, size, FMUState);
}

/* ---- what is not offered */

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define OTHER(reason, function, ...)                                                                                   \
    EXPORT Status function(Component c, ##__VA_ARGS__)                                                                 \
    {                                                                                                                  \
        BEGIN(#function, ALWAYS);                                                                                      \
        return refuse(instance, ERROR, name, NOT_PROVIDED, reason, 0, 0.0, 0.0);                                       \
    }

OTHER("discrete states are not to be evaluated without an update", fmi3EvaluateDiscreteStates)

#define STRUCTURE "it has no structural parameters"
OTHER(STRUCTURE, fmi3EnterConfigurationMode)
OTHER(STRUCTURE, fmi3ExitConfigurationMode)

#define ELEMENTS "dependencies are those of the model description"
OTHER(ELEMENTS, fmi3GetNumberOfVariableDependencies, Reference valueReference, size_t *nDependencies)
OTHER(ELEMENTS, fmi3GetVariableDependencies, Reference dependent, size_t elementIndicesOfDependent[],
      Reference independents[], size_t elementIndicesOfIndependents[], int dependencyKinds[], size_t nDependencies)

#define CLOCKS "it has no clocks"
OTHER(CLOCKS, fmi3GetClock, const Reference valueReferences[], size_t nValueReferences, bool values[])
OTHER(CLOCKS, fmi3SetClock, const Reference valueReferences[], size_t nValueReferences, const bool values[])
OTHER(CLOCKS, fmi3GetIntervalDecimal, const Reference valueReferences[], size_t nValueReferences, Real intervals[],
      int qualifiers[])
OTHER(CLOCKS, fmi3GetIntervalFraction, const Reference valueReferences[], size_t nValueReferences, uint64_t counters[],
      uint64_t resolutions[], int qualifiers[])
OTHER(CLOCKS, fmi3GetShiftDecimal, const Reference valueReferences[], size_t nValueReferences, Real shifts[])
OTHER(CLOCKS, fmi3GetShiftFraction, const Reference valueReferences[], size_t nValueReferences, uint64_t counters[],
      uint64_t resolutions[])
OTHER(CLOCKS, fmi3SetIntervalDecimal, const Reference valueReferences[], size_t nValueReferences,
      const Real intervals[])
OTHER(CLOCKS, fmi3SetIntervalFraction, const Reference valueReferences[], size_t nValueReferences,
      const uint64_t counters[], const uint64_t resolutions[])
OTHER(CLOCKS, fmi3SetShiftDecimal, const Reference valueReferences[], size_t nValueReferences, const Real shifts[])
OTHER(CLOCKS, fmi3SetShiftFraction, const Reference valueReferences[], size_t nValueReferences,
      const uint64_t counters[], const uint64_t resolutions[])
OTHER("it belongs to scheduled execution", fmi3ActivateModelPartition, Reference clockReference, Real activationTime)
