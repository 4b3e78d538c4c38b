/* FMI 2.0: the functions that hosts call.  Those that read and write variables are in variables.c, those that belong to
 * model exchange alone in exchange.c, and what they do in every version of FMI is in life.c.
 *
 * The standard's rules that need no model are kept here: which call is allowed in which mode, which variable may be read
 * or written, which numbers make sense.  What passes goes on to what is `inside` (fmu.h), which shares a block of memory:
 * values of variables are in an array that is read and written here, so that most calls end here.
 */
#include "faces.h"
#include "system.h"

/* ---- life */

EXPORT String fmi2GetTypesPlatform(void)
{
    return "default";
}

EXPORT String fmi2GetVersion(void)
{
    return "2.0";
}

EXPORT Component fmi2Instantiate(String instanceName, Type fmuType, String fmuGUID, String fmuResourceLocation,
                                 const Callbacks *functions, Boolean visible, Boolean loggingOn)
{
    (void)visible;
    Instance *instance = functions ? new_instance(instanceName, loggingOn) : NULL;
    if (!instance)
        return NULL;
    instance->host = *functions;
    char *folder = fmuResourceLocation ? path_of(fmuResourceLocation) : NULL;
    instance->type = fmuType;
    Opening how = {
        .function = "fmi2Instantiate",
        .argument = "fmuResourceLocation",
        .form = "URI",
        .full_form = "file: URI",
        .location = fmuResourceLocation,
        .token_name = "the GUID",
        .token = fmuGUID ? fmuGUID : "",
    };
    String wrong = NULL;
    if (fmuType != CO_SIMULATION && !(fmuType == MODEL_EXCHANGE && inside.get_rates))
        wrong = "fmi2Instantiate: the FMU is for co-simulation, not for model exchange.";
    instance = open_instance(instance, &how, folder, wrong);
    drop(folder);
    return instance;
}

EXPORT void fmi2FreeInstance(Component c)
{
    free_instance(c);
}

EXPORT Status fmi2SetDebugLogging(Component c, Boolean loggingOn, size_t nCategories, const String categories[])
{
    BEGIN("fmi2SetDebugLogging", ALWAYS);
    return set_debug_logging(instance, name, loggingOn, nCategories, categories);
}

EXPORT Status fmi2SetupExperiment(Component c, Boolean toleranceDefined, Real tolerance, Real startTime,
                                  Boolean stopTimeDefined, Real stopTime)
{
    BEGIN("fmi2SetupExperiment", NEW);
    return set_times(instance, name, toleranceDefined, tolerance, startTime, stopTimeDefined, stopTime);
}

EXPORT Status fmi2EnterInitializationMode(Component c)
{
    BEGIN("fmi2EnterInitializationMode", NEW);
    return changed_to(instance, INITIALISING, answered(instance, name, inside.enter(instance)));
}

EXPORT Status fmi2ExitInitializationMode(Component c)
{
    BEGIN("fmi2ExitInitializationMode", INITIALISING);
    return changed_to(instance, instance->type == MODEL_EXCHANGE ? EVENT : STEPPING, answered(instance, name, inside.leave(instance)));
}

EXPORT Status fmi2Terminate(Component c)
{
    BEGIN("fmi2Terminate", STEPPING | FAILED | EVENT | CONTINUOUS);
    return changed_to(instance, TERMINATED, answered(instance, name, inside.terminate(instance)));
}

EXPORT Status fmi2Reset(Component c)
{
    BEGIN("fmi2Reset", ALWAYS);
    return reset(instance, name);
}

/* ---- steps */

EXPORT Status fmi2DoStep(Component c, Real currentCommunicationPoint, Real communicationStepSize,
                         Boolean noSetFMUStatePriorToCurrentPoint)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    BEGIN("fmi2DoStep", STEPPING);
    return do_step(instance, name, currentCommunicationPoint, communicationStepSize);
}

EXPORT Status fmi2CancelStep(Component c)
{
    BEGIN("fmi2CancelStep", 0);
    return OK;
}

/* Nothing is ever pending here, and what cannot be told is discarded. */
static Status no_status(Instance *instance, String name)
{
    return refuse(instance, DISCARD, name, NO_STATUS, NULL, 0, 0.0, 0.0);
}

EXPORT Status fmi2GetStatus(Component c, const StatusKind s, Status *value)
{
    (void)s;
    BEGIN("fmi2GetStatus", STATUSES);
    NOT_NULL(value);
    return no_status(instance, name);
}

EXPORT Status fmi2GetRealStatus(Component c, const StatusKind s, Real *value)
{
    BEGIN("fmi2GetRealStatus", STATUSES);
    NOT_NULL(value);
    if (s != LAST_SUCCESSFUL_TIME)
        return no_status(instance, name);
    *value = block->time;
    return OK;
}

EXPORT Status fmi2GetIntegerStatus(Component c, const StatusKind s, Integer *value)
{
    (void)s;
    BEGIN("fmi2GetIntegerStatus", STATUSES);
    NOT_NULL(value);
    return no_status(instance, name);
}

EXPORT Status fmi2GetBooleanStatus(Component c, const StatusKind s, Boolean *value)
{
    BEGIN("fmi2GetBooleanStatus", STATUSES);
    NOT_NULL(value);
    if (s != TERMINATED_STATUS)
        return no_status(instance, name);
    /* the FMU never ends a run by itself */
    *value = 0;
    return OK;
}

EXPORT Status fmi2GetStringStatus(Component c, const StatusKind s, String *value)
{
    (void)s;
    BEGIN("fmi2GetStringStatus", STATUSES);
    NOT_NULL(value);
    return no_status(instance, name);
}

/* ---- state */

EXPORT Status fmi2GetFMUstate(Component c, State *FMUstate)
{
    BEGIN("fmi2GetFMUstate", ALWAYS);
    NOT_NULL(FMUstate);
    return hand_out_state(instance, name, FMUstate);
}

EXPORT Status fmi2SetFMUstate(Component c, State FMUstate)
{
    BEGIN("fmi2SetFMUstate", ALWAYS);
    return put_back_state(instance, name, FMUstate);
}

EXPORT Status fmi2FreeFMUstate(Component c, State *FMUstate)
{
    BEGIN("fmi2FreeFMUstate", ALWAYS);
    return release_state(instance, name, FMUstate);
}

EXPORT Status fmi2SerializedFMUstateSize(Component c, State FMUstate, size_t *size)
{
    BEGIN("fmi2SerializedFMUstateSize", ALWAYS);
    NOT_NULL(size);
    return size_of_state(instance, name, FMUstate, size);
}

EXPORT Status fmi2SerializeFMUstate(Component c, State FMUstate, Byte serializedState[], size_t size)
{
    BEGIN("fmi2SerializeFMUstate", ALWAYS);
    NOT_NULL(serializedState);
    return write_state(instance, name, FMUstate, serializedState, size);
}

EXPORT Status fmi2DeSerializeFMUstate(Component c, const Byte serializedState[], size_t size, State *FMUstate)
{
    BEGIN("fmi2DeSerializeFMUstate", ALWAYS);
    NOT_NULL(serializedState);
    NOT_NULL(FMUstate);
    return read_state(instance, name, serializedState, size, FMUstate);
}
