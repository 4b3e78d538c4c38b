/* What stands behind an instance of a native FMU: the machine of liegeo/machine, as compiled kernels, and a data file.
 *
 * There is no mechanics here and no stepping: a record of addresses is laid out as the data file says, kernels move
 * what it names, and texts come from the data file.  Nothing is allocated in a step.
 */
#include "native.h"

#if defined(_WIN32) && !defined(SOURCE_FMU)
/* the run-time library of Windows has no such function, and LLVM makes calls of it */
__declspec(dllimport) double sin(double x);
__declspec(dllimport) double cos(double x);
void sincos(double x, double *s, double *c)
{
    *s = sin(x), *c = cos(x);
}
#endif

/* ---- what is asked */

/* What the kernels showed, as values of outputs, into an array by variable. */
static void take_outputs(Machine *machine, Real *into)
{
    const int64_t *roles = INTS(machine->data, ROLES);
    const Real *factors = REALS(machine->data, FACTORS), *shown = reals(machine, R_SHOWN);
    for (size_t k = 0; k < variables_of(machine->data); k++)
        if (roles[k] == ROLE_AN_OUTPUT)
            into[k] = *shown++ / factors[k];
}

/* `fresh` as in the block; the derivatives of states cost as much as a stage of a step, and few hosts read them. */
static Status refresh(Instance *instance, int fresh)
{
    Machine *machine = instance->machine;
    String why = moving(instance);
    if (!why) {
        int entry = instance->type == MODEL_EXCHANGE ? ENTRY_SHOW_EXCHANGED : ENTRY_SHOW;
        if (instance->block.mode == BETWEEN)
            entry = ENTRY_SHOW_BETWEEN;
        int64_t answer = with_number(machine, entry, fresh >= 2);
        if (answer)
            why = why_of(machine, answer, 0.0);
    }
    if (why)
        return wrong(instance, ERROR, why);
    take_outputs(machine, machine->values);
    if (fresh == 3)
        take_states(instance);
    instance->block.fresh = fresh;
    return OK;
}

/* Derivatives of outputs, to where the host wants them. */
static Status give(Instance *instance, int64_t answer)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    if (answer)
        return wrong(instance, ERROR, why_of(machine, answer, 0.0));
    size_t first = of_role(machine->data, ROLE_AN_OUTPUT);
    const Real *factors = REALS(machine->data, FACTORS), *shown = reals(machine, R_SHOWN);
    for (size_t k = 0; k < block->n_references; k++)
        block->out[k] = shown[block->references[k] - first] / factors[block->references[k]];
    /* what was shown before is written over */
    block->fresh = 0;
    return OK;
}

static Status directional(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    const Data *data = machine->data;
    size_t first = of_role(data, ROLE_AN_INPUT);
    /* the slopes of the next step are not touched: there is room behind them */
    size_t n = (size_t)NUMBER(data, N_INPUTS);
    Real *direction = machine->slopes + 2 * n;
    for (size_t k = 0; k < n; k++)
        direction[k] = 0.0;
    for (size_t k = 0; k < block->n_known; k++)
        direction[block->known[k] - first] += block->given[k] * REALS(data, FACTORS)[block->known[k]];
    return give(instance, with_array(machine, ENTRY_ALONG_INPUTS, direction, n));
}

static void take_slopes(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    size_t first = of_role(machine->data, ROLE_AN_INPUT);
    const Real *factors = REALS(machine->data, FACTORS);
    for (size_t k = 0; k < block->n_references; k++) {
        Reference r = block->references[k];
        if (block->orders[k] <= 2 && !(block->kinds[r] & IS_MOTION))
            machine->slopes[2 * (r - first) + (size_t)block->orders[k] - 1] = block->given[k] * factors[r];
    }
}

static Status ask(Instance *instance, int what)
{
    if (what == REFRESH || what == COMPLETE || what == STATES)
        return refresh(instance, what == STATES ? 3 : what);
    if (what == INPUT_RATES) {
        take_slopes(instance);
        return OK;
    }
    String why = moving(instance);
    if (why)
        return wrong(instance, ERROR, why);
    if (what == DIRECTIONAL)
        return instance->type == MODEL_EXCHANGE ? along_states(instance) : directional(instance);
    return give(instance, plain(instance->machine, ENTRY_ALONG_MOTION));
}

/* ---- life */

static void forget_slopes(Machine *machine)
{
    for (size_t k = 0; k < 2 * (size_t)NUMBER(machine->data, N_INPUTS); k++)
        machine->slopes[k] = 0.0 / 0.0;
}

/* All parameters as the FMU has them. */
static void as_built(Machine *machine)
{
    const Data *data = machine->data;
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    size_t text = 0;
    for (size_t k = 0; k < variables_of(data); k++) {
        if (kinds[k] & IS_STRING) {
            if (machine->is_set[k])
                drop((void *)(uintptr_t)machine->texts[text]);
            machine->texts[text] = text_of(data, SECTION_STRINGS, text);
            text++;
        }
        machine->values[k] = REALS(data, VALUES)[k];
        machine->is_set[k] = 0;
    }
    forget_slopes(machine);
    machine->made = 0;
}

static void close_machine(Instance *instance)
{
    Machine *machine = instance->machine;
    if (!machine)
        return;
    if (machine->data && machine->values && machine->is_set && machine->texts && machine->slopes)
        as_built(machine);
    drop(machine->values);
    drop(machine->is_set);
    drop(machine->texts);
    drop(machine->slopes);
    drop(machine->exchanged);
    drop(machine->arena);
    drop(machine->own);
    drop(machine->words.data);
    unload_data(machine->data);
    drop(machine);
    instance->machine = NULL;
}

static void show_variables(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    block->guid = section(machine->data, SECTION_GUID, NULL);
    block->n = variables_of(machine->data);
    block->values = machine->values;
    block->kinds = section(machine->data, SECTION_KINDS, NULL);
    block->names = machine->data->names;
    instance->runs = section(machine->data, SECTION_RUNS, NULL);
}

static String open_machine(Instance *instance, String folder)
{
    Machine *machine = grab(sizeof *machine);
    if (!machine)
        return "there is no memory.";
    instance->machine = machine;
    machine->method = -1;
    String why = load_data(folder, &machine->data);
    if (why)
        return why;
    const Data *data = machine->data;
    size_t n = variables_of(data), inputs = (size_t)NUMBER(data, N_INPUTS);
    machine->values = grab((n + 1) * sizeof *machine->values);
    machine->is_set = grab(n + 1);
    machine->texts = grab(((size_t)NUMBER(data, N_STRINGS) + 1) * sizeof *machine->texts);
    machine->slopes = grab((3 * inputs + 1) * sizeof *machine->slopes);
    instance->n_states = (size_t)NUMBER(data, N_STATES);
    instance->n_indicators = (size_t)NUMBER(data, N_INDICATORS);
    machine->exchanged = grab((2 * instance->n_states + inputs + instance->n_indicators + 1) * sizeof *machine->exchanged);
    if (!machine->values || !machine->is_set || !machine->texts || !machine->slopes || !machine->exchanged)
        return "there is no memory.";
    as_built(machine);
    show_variables(instance);
    return NULL;
}

static int never(void)
{
    return 0;
}

static Status enter(Instance *instance)
{
    ((Machine *)instance->machine)->made = 0;
    return OK;
}

static Status leave(Instance *instance)
{
    Machine *machine = instance->machine;
    Status status = refresh(instance, 2);
    if (status)
        return status;
    const Real *settings = reals(machine, R_SETTINGS);
    instance->block.time = state_of(machine)[X_TIME];
    Value values[] = {{NULL, instance->block.time},
                      {text_value(machine, ROLE_METHOD), 0.0},
                      {NULL, settings[SETTING_STEP]},
                      {NULL, settings[SETTING_RTOL]},
                      {NULL, settings[SETTING_ATOL]},
                      {text_value(machine, ROLE_EXTRAPOLATION), 0.0}};
    tell(instance, OK, worded(machine, TEXT_INITIALISED, values, 6), NULL);
    return OK;
}

static Status terminate(Instance *instance)
{
    (void)instance;
    return OK;
}

static Status reset(Instance *instance)
{
    as_built(instance->machine);
    show_variables(instance);
    return OK;
}

/* ---- parameters of the host */

static Status set_real(Instance *instance, const Reference *references, size_t n, const Real *values)
{
    Machine *machine = instance->machine;
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    int tuned = 0, of_file = 0;
    for (size_t k = 0; k < n; k++)
        of_file |= roles[references[k]] == ROLE_OF_FILE;
    if (of_file && instance->block.mode > INITIALISING) {
        String why = tune(machine, references, n, values);
        if (why)
            return wrong(instance, DISCARD, why);
    }
    for (size_t k = 0; k < n; k++) {
        Reference r = references[k];
        if (!(instance->block.kinds[r] & IS_PARAMETER))
            continue;
        machine->is_set[r] = 1;
        if (instance->block.mode > INITIALISING && roles[r] == ROLE_WEIGHT && !of_file) {
            Real *weight = state_of(machine) + (size_t)NUMBER(data, AT_GRAVITY);
            weight[keys[r]] = values[k] * REALS(data, FACTORS)[r];
            tuned = 1;
        }
    }
    if (tuned) {
        /* accelerations jump: a method starts anew */
        plain(machine, ENTRY_PUT_COEFFICIENTS);
        at_time(machine, ENTRY_RESTART, state_of(machine)[X_TIME]);
    } else if (instance->block.mode <= INITIALISING) {
        machine->made = 0;
    }
    return OK;
}

static Status set_string(Instance *instance, const Reference *references, size_t n, const String *values)
{
    Machine *machine = instance->machine;
    for (size_t k = 0; k < n; k++) {
        char *copy = copied(values[k]);
        if (!copy)
            return wrong(instance, ERROR, text_of(machine->data, SECTION_WORDS, TEXT_NO_MEMORY));
        size_t text = text_number(machine->data, references[k]);
        if (machine->is_set[references[k]])
            drop((void *)(uintptr_t)machine->texts[text]);
        machine->texts[text] = copy;
        machine->is_set[references[k]] = 1;
    }
    machine->made = 0;
    instance->block.fresh = 0;
    return OK;
}

static Status get_string(Instance *instance, const Reference *references, size_t n, String *values)
{
    Machine *machine = instance->machine;
    for (size_t k = 0; k < n; k++)
        values[k] = machine->texts[text_number(machine->data, references[k])];
    return OK;
}

/* ---- steps */

/* Derivatives of inputs, for the step that follows. */
static void take_derivatives(Machine *machine)
{
    Real *slopes = reals(machine, R_SLOPES);
    for (size_t k = 0; k < 2 * (size_t)NUMBER(machine->data, N_INPUTS); k++)
        slopes[k] = machine->slopes[k];
}

static int64_t communicate(Machine *machine, Real t, Real size)
{
    take_derivatives(machine);
    return over(machine, ENTRY_COMMUNICATE, t, size);
}

/* The same by single internal steps, of which the host hears; it may wish an earlier end.  −2: it ended the run. */
static int64_t communicate_openly(Instance *instance, Real t, Real size, Real *end)
{
    Machine *machine = instance->machine;
    Real whole = t + size;
    *end = whole;
    take_derivatives(machine);
    int64_t answer = over(machine, ENTRY_BEGIN, t, size);
    while (!answer) {
        answer = at_time(machine, ENTRY_STRIDE, *end);
        if (answer && answer != WHY_GOES_ON)
            return answer;
        Real now = control_of(machine)[CONTROL_TIME];
        *end = told_of_step(instance, now, *end);
        if (instance->block.mode != STEPPING)
            return -2;
        if (!answer || *end == now)
            return at_time(machine, *end == whole ? ENTRY_FINISH : ENTRY_STOP, *end);
        answer = 0;
    }
    return answer;
}

/* A step failed: go as far as internal steps succeed.  Next to a singular position other internal steps, which have to
 * end there, may fail where those did not: then less is tried. */
static void stop_early(Machine *machine, Real t, Real size)
{
    static const Real shares[] = {1.0, 1.0 - 1e-6, 1.0 - 1e-4, 0.99, 0.9};
    Real got = state_of(machine)[X_REACHED] - t;
    for (int k = 0; 0.0 < got && got < size && k < 5; k++) {
        if (!communicate(machine, t, shares[k] * got))
            return;
        plain(machine, ENTRY_TAKE_BACK);
    }
}

static Status do_step(Instance *instance, Real t, Real size)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    String why = moving(instance);
    if (why)
        return wrong(instance, ERROR, why);
    /* outputs that the host read after the step before it will read again */
    int asked = block->asked;
    block->asked = block->fresh = 0;
    Real end = t + size;
    int64_t answer = instance->intermediate ? communicate_openly(instance, t, size, &end) : communicate(machine, t, size);
    if (block->mode != STEPPING) {
        /* a call of the host within the step was wrong, and it has been told so */
        plain(machine, ENTRY_TAKE_BACK);
        return ERROR;
    }
    if (answer) {
        const Real *X = state_of(machine);
        why = why_of(machine, answer, size);
        plain(machine, ENTRY_TAKE_BACK);
        stop_early(machine, t, size);
        forget_slopes(machine);
        block->time = X[X_TIME];
        return wrong(instance, DISCARD, why);
    }
    forget_slopes(machine);
    block->time = end;
    if (asked && refresh(instance, asked))
        block->fresh = 0, block->why = NULL;
    return OK;
}

const Inside inside = {
#ifndef SOURCE_FMU
    .needs = "machine.bin",
#endif
    .has_needs = has_data,
    .open = open_machine,
    .close = close_machine,
    .gone = never,
    .enter = enter,
    .leave = leave,
    .terminate = terminate,
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
    .get_indicators = get_indicators,
    .get_nominals = get_nominals,
    .completed_step = completed_step,
    .new_discrete_states = new_discrete_states,
    .next_event = next_event,
};
