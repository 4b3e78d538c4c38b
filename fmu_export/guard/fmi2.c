/* FMI 2.0: the functions that hosts call.  Those that read and write variables are in variables.c, and those that belong
 * to model exchange alone in exchange.c.
 *
 * The standard's rules that need no model are kept here: which call is allowed in which mode, which variable may be read
 * or written, which numbers make sense.  What passes goes on to what is `inside` (fmu.h), which shares a block of memory:
 * values of variables are in an array that is read and written here, so that most calls end here.
 */
#include "faces.h"
#include "system.h"

Status answered(Instance *instance, String function, Status status)
{
    if (status != OK && instance->block.why) {
        put(begin(instance, function), instance->block.why);
        tell_text(instance, status);
    }
    if (status == FATAL)
        instance->block.mode = DEAD;
    else if (status == ERROR)
        instance->block.mode = BROKEN;
    return status;
}

/* ---- life */

EXPORT String fmi2GetTypesPlatform(void)
{
    return "default";
}

EXPORT String fmi2GetVersion(void)
{
    return "2.0";
}

/* Free what is inside, and before that what hosts hold of it. */
static void close(Instance *instance)
{
    Block *block = &instance->block;
    int whole = block->mode != DEAD && !inside.gone();
    while (instance->states) {
        Kept *kept = instance->states;
        instance->states = kept->next;
        if (whole)
            inside.free_state(instance, kept->state);
        drop(kept);
    }
    inside.close(instance);
}

void forget(Instance *instance)
{
    instance->host.logger = NULL;
    close(instance);
    /* should it be called all the same */
    instance->block.mode = DEAD;
}

static void free_memory_of(Instance *instance)
{
    drop(instance->name);
    drop(instance->text.data);
    drop(instance->told);
    drop(instance);
}

/* NULL, or what is wrong; "" if the log has it. */
static String opened(Instance *instance, String guid, String location, String folder)
{
    static const char name[] = "fmi2Instantiate";
    Block *block = &instance->block;
    Text *text = &instance->text;
    if (!folder)
        return "fmi2Instantiate: fmuResourceLocation is NULL, expected the URI of the resources.";
    if (!is_text(folder))
        return "fmi2Instantiate: the path of the resources is not UTF-8.";
    if (is_elsewhere(location) || !inside.has_needs(folder)) {
        put(begin(instance, name), "fmuResourceLocation is '");
        put(text, location);
        put(text, "', expected the file: URI of the unpacked folder 'resources' of this FMU, with ");
        put(text, inside.needs);
        put(text, ".");
        return text->data ? text->data : "";
    }
    block->magic = MAGIC, block->size = sizeof *block;
    block->mode = NEW;
    block->start = block->stop = block->tolerance = 0.0 / 0.0;
    String wrong = inside.open(instance, folder);
    if (wrong || (block->guid && same(block->guid, guid)))
        return wrong;
    put(begin(instance, name), "the GUID is '");
    put(text, guid);
    put(text, "', but this FMU is ");
    put(text, block->guid ? block->guid : "without one");
    put(text, ".");
    return text->data ? text->data : "";
}

EXPORT Component fmi2Instantiate(String instanceName, Type fmuType, String fmuGUID, String fmuResourceLocation,
                                 const Callbacks *functions, Boolean visible, Boolean loggingOn)
{
    (void)visible;
    Instance *instance = functions ? grab(sizeof *instance) : NULL;
    if (!instance)
        return NULL;
    instance->host = *functions;
    instance->logging = loggingOn;
    instance->name = copied(instanceName && is_text(instanceName) ? instanceName : "fmu");
    char *folder = fmuResourceLocation ? path_of(fmuResourceLocation) : NULL;
    String wrong = "";
    instance->type = fmuType;
    if (fmuType != CO_SIMULATION && !(fmuType == MODEL_EXCHANGE && inside.get_rates))
        wrong = "fmi2Instantiate: the FMU is for co-simulation, not for model exchange.";
    else if (instance->name)
        wrong = opened(instance, fmuGUID ? fmuGUID : "", fmuResourceLocation, folder);
    drop(folder);
    if (!wrong)
        return instance;
    if (*wrong)
        say(instance, ERROR, NULL, wrong);
    close(instance);
    free_memory_of(instance);
    return NULL;
}

EXPORT void fmi2FreeInstance(Component c)
{
    Instance *instance = c;
    if (!instance)
        return;
    close(instance);
    free_memory_of(instance);
}

EXPORT Status fmi2SetDebugLogging(Component c, Boolean loggingOn, size_t nCategories, const String categories[])
{
    BEGIN("fmi2SetDebugLogging", ALWAYS);
    Status status = OK;
    if (nCategories)
        NOT_NULL(categories);
    unsigned chosen = 0;
    for (size_t k = 0; k < nCategories; k++) {
        NOT_NULL(categories[k]);
        unsigned bit = bit_of(categories[k]);
        /* the first is that of all messages */
        chosen |= bit == 1u ? ~0u : bit;
        if (!bit)
            status = refuse(instance, WARNING, name, NO_CATEGORY, categories[k], 0, 0.0, 0.0);
    }
    instance->logging = loggingOn;
    instance->categories = chosen;
    return status;
}

EXPORT Status fmi2SetupExperiment(Component c, Boolean toleranceDefined, Real tolerance, Real startTime,
                                  Boolean stopTimeDefined, Real stopTime)
{
    BEGIN("fmi2SetupExperiment", NEW);
    if (!finite(startTime) || (stopTimeDefined && !(stopTime >= startTime)))
        return refuse(instance, ERROR, name, TIMES, NULL, 0, startTime, stopTimeDefined ? stopTime : 0.0 / 0.0);
    block->start = startTime;
    block->stop = stopTimeDefined ? stopTime : 0.0 / 0.0;
    block->tolerance = toleranceDefined ? tolerance : 0.0 / 0.0;
    return OK;
}

/* A call that ends in a mode, if all is well. */
static Status changed_to(Instance *instance, int mode, Status status)
{
    if (status < DISCARD)
        instance->block.mode = mode;
    return status;
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
    /* arrays and texts are those of something that is going to be replaced */
    block->n = 0, block->values = NULL, block->kinds = NULL, block->names = NULL, block->message = NULL;
    block->start = block->stop = block->tolerance = 0.0 / 0.0;
    block->fresh = block->changed = 0;
    block->mode = NEW;
    drop(instance->told);
    instance->told = NULL;
    Status status = answered(instance, name, inside.reset(instance));
    if (status < ERROR)
        return status;
    block->mode = DEAD;
    return FATAL;
}

/* ---- steps */

/* What masters may differ by in what they call the time: its round-off, and a small share of the step. */
static Real slack(Real time, Real step)
{
    return 16.0 * 2.220446049250313e-16 * (time < 0.0 ? -time : time) + 1e-6 * step;
}

static Status discarded(Instance *instance, String name, Real t, Real size)
{
    Text *text = begin(instance, name);
    put(text, "the step from ");
    put_number(text, t, SIX);
    put(text, " s, ");
    put_number(text, size, SIX);
    put(text, " s long, is discarded");
    put(text, instance->block.why ? ": " : ".");
    put(text, instance->block.why ? instance->block.why : "");
    tell_text(instance, DISCARD);
    instance->block.mode = FAILED;
    return DISCARD;
}

EXPORT Status fmi2DoStep(Component c, Real currentCommunicationPoint, Real communicationStepSize,
                         Boolean noSetFMUStatePriorToCurrentPoint)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    BEGIN("fmi2DoStep", STEPPING);
    Real t = currentCommunicationPoint, size = communicationStepSize;
    if (!finite(t) || !finite(size) || !(size > 0.0))
        return refuse(instance, ERROR, name, STEP_SIZE, NULL, 0, t, size);
    Real away = t - block->time, allowed = slack(block->time, size);
    if (away > allowed || -away > allowed)
        return refuse(instance, ERROR, name, STEP_START, NULL, 0, t, block->time);
    if (t + size == t)
        return refuse(instance, ERROR, name, STEP_NOTHING, NULL, 0, t, size);
    /* a sum of a million steps may end a thousandth of one beside it */
    if (block->stop == block->stop && t + size > block->stop + slack(block->stop, 1e3 * size))
        return refuse(instance, ERROR, name, STEP_STOP, NULL, 0, t + size, block->stop);
    Status status = inside.do_step(instance, t, size);
    return status == DISCARD ? discarded(instance, name, t, size) : answered(instance, name, status);
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

/* ---- state: what hosts hold is ours, so that what is none is noticed */

static Kept *kept_by(const Instance *instance, State state)
{
    Kept *kept = instance->states;
    while (kept && kept != state)
        kept = kept->next;
    return kept;
}

#define NEEDS_STATE(kept, state)                                                                                       \
    Kept *kept = kept_by(instance, state);                                                                             \
    if (!kept)                                                                                                         \
    return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0)

/* Put a state from inside into the one that the host gave, or into a new one. */
static Status keep(Instance *instance, State state, Kept *kept, State *into)
{
    if (kept) {
        inside.free_state(instance, kept->state);
    } else {
        kept = grab(sizeof *kept);
        if (!kept) {
            inside.free_state(instance, state);
            return ERROR;
        }
        kept->next = instance->states;
        instance->states = kept;
    }
    kept->state = state;
    *into = kept;
    return OK;
}

EXPORT Status fmi2GetFMUstate(Component c, State *FMUstate)
{
    BEGIN("fmi2GetFMUstate", ALWAYS);
    NOT_NULL(FMUstate);
    Kept *kept = kept_by(instance, *FMUstate);
    if (*FMUstate && !kept)
        return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0);
    State state = NULL;
    Status status = answered(instance, name, inside.get_state(instance, &state));
    return status >= ERROR ? status : keep(instance, state, kept, FMUstate);
}

EXPORT Status fmi2SetFMUstate(Component c, State FMUstate)
{
    BEGIN("fmi2SetFMUstate", ALWAYS);
    NEEDS_STATE(kept, FMUstate);
    return answered(instance, name, inside.set_state(instance, kept->state));
}

EXPORT Status fmi2FreeFMUstate(Component c, State *FMUstate)
{
    BEGIN("fmi2FreeFMUstate", ALWAYS);
    if (!FMUstate || !*FMUstate)
        return OK;
    NEEDS_STATE(kept, *FMUstate);
    Kept **link = &instance->states;
    while (*link != kept)
        link = &(*link)->next;
    *link = kept->next;
    *FMUstate = NULL;
    Status status = answered(instance, name, inside.free_state(instance, kept->state));
    drop(kept);
    return status;
}

EXPORT Status fmi2SerializedFMUstateSize(Component c, State FMUstate, size_t *size)
{
    BEGIN("fmi2SerializedFMUstateSize", ALWAYS);
    NOT_NULL(size);
    NEEDS_STATE(kept, FMUstate);
    return answered(instance, name, inside.state_size(instance, kept->state, size));
}

EXPORT Status fmi2SerializeFMUstate(Component c, State FMUstate, Byte serializedState[], size_t size)
{
    BEGIN("fmi2SerializeFMUstate", ALWAYS);
    NOT_NULL(serializedState);
    NEEDS_STATE(kept, FMUstate);
    size_t needed = 0;
    Status status = answered(instance, name, inside.state_size(instance, kept->state, &needed));
    if (status >= ERROR)
        return status;
    if (size < needed)
        return refuse(instance, ERROR, name, TOO_SMALL, NULL, 0, (Real)size, (Real)needed);
    return answered(instance, name, inside.state_to_bytes(instance, kept->state, serializedState, needed));
}

EXPORT Status fmi2DeSerializeFMUstate(Component c, const Byte serializedState[], size_t size, State *FMUstate)
{
    BEGIN("fmi2DeSerializeFMUstate", ALWAYS);
    NOT_NULL(serializedState);
    NOT_NULL(FMUstate);
    Kept *kept = kept_by(instance, *FMUstate);
    if (*FMUstate && !kept)
        return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0);
    State state = NULL;
    Status status = answered(instance, name, inside.state_from_bytes(instance, serializedState, size, &state));
    return status >= ERROR ? status : keep(instance, state, kept, FMUstate);
}
