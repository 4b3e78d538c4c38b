/* FMI 3.0 for co-simulation: the functions that hosts call.  Those that read and write variables are in variables3.c;
 * what they do in every version of FMI is in life.c, with the same rules and the same words.
 *
 * What is not offered, and is not said to be in the description: event mode, because a model has no events that a host
 * must handle; intermediate update, because the loop of a step is compiled and calls no host; clocks, structural
 * parameters, scheduled execution; and model exchange.
 */
#include "faces.h"
#include "system.h"

#include <stdbool.h>

/* ---- life */

EXPORT String fmi3GetVersion(void)
{
    return "3.0";
}

static Component instantiate(String function, String name, String token, String path, bool logging, void *environment,
                             LogMessage *log, String wrong)
{
    Instance *instance = new_instance(name, logging);
    if (!instance)
        return NULL;
    instance->host.environment = environment;
    instance->log_message = log;
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
                                             LogMessage *logMessage, void *intermediateUpdate)
{
    (void)visible, (void)earlyReturnAllowed, (void)requiredIntermediateVariables, (void)intermediateUpdate;
    String wrong = NULL;
    if (eventModeUsed)
        wrong = "fmi3InstantiateCoSimulation: eventModeUsed is true, but the FMU has no event mode.";
    else if (nRequiredIntermediateVariables)
        wrong = "fmi3InstantiateCoSimulation: there are requiredIntermediateVariables, but the FMU has no intermediate "
                "update.";
    return instantiate("fmi3InstantiateCoSimulation", instanceName, instantiationToken, resourcePath, loggingOn,
                       instanceEnvironment, logMessage, wrong);
}

EXPORT Component fmi3InstantiateModelExchange(String instanceName, String instantiationToken, String resourcePath,
                                              bool visible, bool loggingOn, void *instanceEnvironment,
                                              LogMessage *logMessage)
{
    (void)visible;
    return instantiate("fmi3InstantiateModelExchange", instanceName, instantiationToken, resourcePath, loggingOn,
                       instanceEnvironment, logMessage,
                       "fmi3InstantiateModelExchange: the FMU is for co-simulation, not for model exchange.");
}

EXPORT Component fmi3InstantiateScheduledExecution(String instanceName, String instantiationToken, String resourcePath,
                                                   bool visible, bool loggingOn, void *instanceEnvironment,
                                                   LogMessage *logMessage, void *clockUpdate, void *lockPreemption,
                                                   void *unlockPreemption)
{
    (void)visible, (void)clockUpdate, (void)lockPreemption, (void)unlockPreemption;
    return instantiate("fmi3InstantiateScheduledExecution", instanceName, instantiationToken, resourcePath, loggingOn,
                       instanceEnvironment, logMessage,
                       "fmi3InstantiateScheduledExecution: the FMU is for co-simulation, not for scheduled execution.");
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
    return changed_to(instance, STEPPING, answered(instance, name, inside.leave(instance)));
}

EXPORT Status fmi3Terminate(Component c)
{
    BEGIN("fmi3Terminate", STEPPING | FAILED);
    return changed_to(instance, TERMINATED, answered(instance, name, inside.terminate(instance)));
}

EXPORT Status fmi3Reset(Component c)
{
    BEGIN("fmi3Reset", ALWAYS);
    return reset(instance, name);
}

/* ---- steps */

/* A step that ends early has failed: there is no event at its end from which the FMU could go on.  So it is discarded,
 * with the time that it got to, whether or not the host allows early returns. */
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
    Status status = do_step(instance, name, currentCommunicationPoint, communicationStepSize);
    *eventHandlingNeeded = *terminateSimulation = *earlyReturn = false;
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

#define EVENTS "it has no event mode"
OTHER(EVENTS, fmi3EnterEventMode)
OTHER(EVENTS, fmi3EnterStepMode)
OTHER(EVENTS, fmi3EvaluateDiscreteStates)
OTHER(EVENTS, fmi3UpdateDiscreteStates, bool *discreteStatesNeedUpdate, bool *terminateSimulation,
      bool *nominalsOfContinuousStatesChanged, bool *valuesOfContinuousStatesChanged, bool *nextEventTimeDefined,
      Real *nextEventTime)

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

#define EXCHANGE "it belongs to model exchange"
OTHER(EXCHANGE, fmi3EnterContinuousTimeMode)
OTHER(EXCHANGE, fmi3CompletedIntegratorStep, bool noSetFMUStatePriorToCurrentPoint, bool *enterEventMode,
      bool *terminateSimulation)
OTHER(EXCHANGE, fmi3SetTime, Real time)
OTHER(EXCHANGE, fmi3SetContinuousStates, const Real continuousStates[], size_t nContinuousStates)
OTHER(EXCHANGE, fmi3GetContinuousStateDerivatives, Real derivatives[], size_t nContinuousStates)
OTHER(EXCHANGE, fmi3GetEventIndicators, Real eventIndicators[], size_t nEventIndicators)
OTHER(EXCHANGE, fmi3GetContinuousStates, Real continuousStates[], size_t nContinuousStates)
OTHER(EXCHANGE, fmi3GetNominalsOfContinuousStates, Real nominals[], size_t nContinuousStates)
OTHER(EXCHANGE, fmi3GetNumberOfEventIndicators, size_t *nEventIndicators)
OTHER(EXCHANGE, fmi3GetNumberOfContinuousStates, size_t *nContinuousStates)
