/* Something simple inside an FMU's library, in place of Python: the integral of an input, times a gain.
 *
 * Inputs above 100 make a step fail half way, those above 1000 are an error, above 10000 they are fatal; a gain below 0
 * is not taken.  Variables: input, integral, gain, label, message, motion.  In model exchange the integral is the state; one
 * above 10 asks for an event, which halves it, and a negative one has no rate.  An event is due at 1 s.
 */
#include "fmu.h"
#include "system.h"

typedef struct {
    Real integral, values[6], experiment[3], time;
    int mode;
} Snapshot;

typedef struct {
    Real integral, values[6];
    char label[32];
} Machine;

static const uint16_t KINDS[] = {IS_REAL | IS_INPUT,
                                 IS_REAL | IS_OUTPUT | IS_DIRECT,
                                 IS_REAL | IS_PARAMETER | IS_TUNABLE,
                                 IS_STRING | IS_PARAMETER,
                                 IS_STRING | IS_MESSAGE,
                                 IS_REAL | IS_INPUT | IS_MOTION};
static const String NAMES[] = {"input", "integral", "gain", "label", "message", "motion"};

/* how many are open, for tests */
__attribute__((visibility("default"))) int machines;

static int has_needs(String folder)
{
    char start[2];
    char *file = joined(folder, "/", "here");
    size_t n = file ? beginning(file, start, sizeof start) : 0;
    drop(file);
    return n > 0;
}

static Status reset(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    *machine = (Machine) {.values = {[2] = 1.0}, .label = "none"};
    block->n = 6, block->values = machine->values, block->kinds = KINDS, block->names = NAMES;
    return OK;
}

static String open(Instance *instance, String folder)
{
    (void)folder;
    instance->machine = grab(sizeof(Machine));
    if (!instance->machine)
        return "there is no memory.";
    machines++;
    instance->n_states = 1;
    instance->block.guid = "{1}";
    reset(instance);
    return NULL;
}

static void close(Instance *instance)
{
    machines -= instance->machine != NULL;
    drop(instance->machine);
}

static int gone(void)
{
    return 0;
}

static Status nothing(Instance *instance)
{
    (void)instance;
    return OK;
}

static Status leave(Instance *instance)
{
    instance->block.time = instance->block.start;
    tell(instance, OK, "it begins", "with\ndetails");
    return OK;
}

static Status set_real(Instance *instance, const Reference *references, size_t n, const Real *values)
{
    for (size_t k = 0; k < n; k++)
        if (references[k] == 2 && values[k] < 0.0) {
            instance->block.why = "a gain < 0.";
            return DISCARD;
        }
    return OK;
}

static Status set_string(Instance *instance, const Reference *references, size_t n, const String *values)
{
    Machine *machine = instance->machine;
    (void)references;
    for (size_t k = 0; k < n; k++)
        if (length(values[k]) < sizeof machine->label)
            for (size_t c = 0; c <= length(values[k]); c++)
                machine->label[c] = values[k][c];
    return OK;
}

static Status get_string(Instance *instance, const Reference *references, size_t n, String *values)
{
    (void)references;
    for (size_t k = 0; k < n; k++)
        values[k] = ((Machine *)instance->machine)->label;
    return OK;
}

static Status ask(Instance *instance, int what)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    block->changed = 0;
    if (what == REFRESH || what == COMPLETE) {
        machine->values[1] = machine->integral;
        block->fresh = 2;
    } else if (what == DIRECTIONAL || what == OUTPUT_RATES) {
        for (size_t k = 0; k < block->n_references; k++)
            block->out[k] = what == DIRECTIONAL ? 0.0 : machine->values[0] * machine->values[2];
    }
    return OK;
}

static Status do_step(Instance *instance, Real t, Real size)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    Real input = machine->values[0];
    block->fresh = block->asked = block->changed = 0;
    if (input > 100.0) {
        block->why = "100 % is too much";
        block->details = "somewhere";
        block->time = t + 0.5 * size;
        return input > 10000.0 ? FATAL : input > 1000.0 ? ERROR : DISCARD;
    }
    machine->integral += input * machine->values[2] * size;
    block->time = t + size;
    return OK;
}

static Status get_state(Instance *instance, State *state)
{
    const Machine *machine = instance->machine;
    Snapshot *snapshot = grab(sizeof *snapshot);
    if (!snapshot) {
        instance->block.why = "there is no memory.";
        return ERROR;
    }
    snapshot->integral = machine->integral;
    for (int k = 0; k < 6; k++)
        snapshot->values[k] = machine->values[k];
    snapshot->time = instance->block.time, snapshot->mode = instance->block.mode;
    *state = snapshot;
    return OK;
}

static Status set_state(Instance *instance, State state)
{
    const Snapshot *snapshot = state;
    Machine *machine = instance->machine;
    machine->integral = snapshot->integral;
    for (int k = 0; k < 6; k++)
        machine->values[k] = snapshot->values[k];
    instance->block.time = snapshot->time, instance->block.mode = snapshot->mode, instance->block.fresh = 0;
    return OK;
}

static Status free_state(Instance *instance, State state)
{
    (void)instance;
    drop(state);
    return OK;
}

static Status state_size(Instance *instance, State state, size_t *n)
{
    (void)instance, (void)state;
    *n = sizeof(Snapshot);
    return OK;
}

static Status state_to_bytes(Instance *instance, State state, Byte *bytes, size_t n)
{
    (void)instance;
    for (size_t k = 0; k < n; k++)
        bytes[k] = ((const Byte *)state)[k];
    return OK;
}

static Status state_from_bytes(Instance *instance, const Byte *bytes, size_t n, State *state)
{
    Byte *made = n == sizeof(Snapshot) ? grab(n) : NULL;
    if (!made) {
        instance->block.why = "the bytes are no state.";
        return ERROR;
    }
    for (size_t k = 0; k < n; k++)
        made[k] = bytes[k];
    *state = made;
    return OK;
}

static Status set_time(Instance *instance, Real t)
{
    (void)instance, (void)t;
    return OK;
}

static Status set_states(Instance *instance, const Real *x)
{
    ((Machine *)instance->machine)->integral = x[0];
    return OK;
}

static Status get_states(Instance *instance, Real *x)
{
    x[0] = ((Machine *)instance->machine)->integral;
    return OK;
}

static Status get_rates(Instance *instance, Real *x)
{
    const Machine *machine = instance->machine;
    x[0] = machine->values[0] * machine->values[2];
    instance->block.why = "an integral < 0.";
    return machine->integral < 0.0 ? DISCARD : OK;
}

static Status get_nominals(Instance *instance, Real *x)
{
    (void)instance;
    x[0] = 2.0;
    return OK;
}

static Status completed_step(Instance *instance, Boolean *event)
{
    *event = ((Machine *)instance->machine)->integral > 10.0;
    return OK;
}

static Status new_discrete_states(Instance *instance, Boolean *changed, Real *next)
{
    Machine *machine = instance->machine;
    *changed = machine->integral > 10.0;
    if (*changed)
        machine->integral *= 0.5;
    *next = instance->block.time < 1.0 ? 1.0 : 1.0 / 0.0;
    return OK;
}

const Inside inside = {
    .needs = "a file 'here'",
    .has_needs = has_needs,
    .open = open,
    .close = close,
    .gone = gone,
    .enter = nothing,
    .leave = leave,
    .terminate = nothing,
    .reset = reset,
    .set_real = set_real,
    .set_string = set_string,
    .get_string = get_string,
    .ask = ask,
    .do_step = do_step,
    .get_state = get_state,
    .set_state = set_state,
    .free_state = free_state,
    .state_size = state_size,
    .state_to_bytes = state_to_bytes,
    .state_from_bytes = state_from_bytes,
    .set_time = set_time,
    .set_states = set_states,
    .get_states = get_states,
    .get_rates = get_rates,
    .get_nominals = get_nominals,
    .completed_step = completed_step,
    .new_discrete_states = new_discrete_states,
};
