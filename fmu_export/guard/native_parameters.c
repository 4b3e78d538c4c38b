/* From the parameters that a host has set to a machine that begins with them. */
#include "native.h"

/* The first variable of a role, or the number of variables. */
size_t of_role(const Data *data, int role)
{
    const int64_t *roles = INTS(data, ROLES);
    size_t k = 0, n = variables_of(data);
    while (k < n && roles[k] != role)
        k++;
    return k;
}

/* The place of a variable of type String among those. */
size_t text_number(const Data *data, size_t variable)
{
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    size_t found = 0;
    for (size_t k = 0; k < variable; k++)
        found += (kinds[k] & IS_STRING) != 0;
    return found;
}

String text_value(const Machine *machine, int role)
{
    return machine->texts[text_number(machine->data, of_role(machine->data, role))];
}

/* A setting of the integrator in SI; the host has one tolerance, so the other goes with it. */
static Real setting(const Machine *machine, const Block *block, int role)
{
    const Data *data = machine->data;
    size_t k = of_role(data, role), rtol = of_role(data, ROLE_RTOL);
    Real value = machine->values[k], given = block->tolerance;
    if (!machine->is_set[k])
        value = REALS(data, VALUES)[k];
    if (role != ROLE_STEP && !machine->is_set[k] && 0.0 < given && given < 1.0 && !machine->is_set[rtol])
        value = role == ROLE_RTOL ? given : value * (given / REALS(data, VALUES)[rtol]);
    return value * REALS(data, FACTORS)[k];
}

/* The number of the method that the parameters name, or −1 with words. */
int64_t chosen_method(Machine *machine, String *why)
{
    String name = text_value(machine, ROLE_METHOD);
    int64_t n = (int64_t)NUMBER(machine->data, N_METHODS);
    for (int64_t k = 0; k < n; k++) {
        String text = text_of(machine->data, SECTION_WORDS, (size_t)(N_TEXTS + k)), rest = text;
        String wanted = name;
        while (*wanted && *rest == *wanted)
            rest++, wanted++;
        if (*wanted || (*rest && *rest != '\n'))
            continue;
        if (!*rest)
            return k;
        *why = rest + 1;
        return -1;
    }
    *why = worded(machine, TEXT_NO_METHOD, (Value[]){{name, 0.0}}, 1);
    return -1;
}

/* Integrator's settings into the record; NULL, or what is wrong. */
String set_up(Machine *machine, const Block *block)
{
    static const struct {
        int role, place;
        String name;
    } numbers[] = {{ROLE_STEP, SETTING_STEP, "step"}, {ROLE_RTOL, SETTING_RTOL, "rtol"}, {ROLE_ATOL, SETTING_ATOL, "atol"}};
    Real *settings = reals(machine, R_SETTINGS);
    for (int k = 0; k < 3; k++) {
        Real value = setting(machine, block, numbers[k].role);
        if (!(value > 0.0 && value - value == 0.0))
            return worded(machine, TEXT_NOT_POSITIVE, (Value[]){{numbers[k].name, 0.0}, {NULL, value}}, 2);
        settings[numbers[k].place] = value;
    }
    String extrapolation = text_value(machine, ROLE_EXTRAPOLATION);
    machine->R[R_LINEAR] = same(extrapolation, "linear");
    if (!machine->R[R_LINEAR] && !same(extrapolation, "hold"))
        return worded(machine, TEXT_NO_EXTRAPOLATION, (Value[]){{extrapolation, 0.0}}, 1);
    return NULL;
}

/* Inputs, gravity and the wished state into X. */
void fill(Machine *machine)
{
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    const Real *factors = REALS(data, FACTORS), *wished = reals(machine, R_WISHED);
    Real *X = state_of(machine), *weight = X + (size_t)NUMBER(data, AT_GRAVITY), *y = X + (size_t)NUMBER(data, AT_Y);
    size_t input = 0;
    for (int k = 0; k < 3; k++)
        weight[k] = reals(machine, R_WEIGHT)[k];
    for (size_t k = 0; k < (size_t)NUMBER(data, N_ELEMENT); k++)
        y[k] = wished[k];
    for (size_t k = 0; k < variables_of(data); k++) {
        Real value = machine->values[k] * factors[k];
        if (roles[k] == ROLE_AN_INPUT)
            X[X_INPUTS + input++] = value;
        else if (roles[k] == ROLE_WEIGHT && machine->is_set[k])
            weight[keys[k]] = value;
        else if (roles[k] == ROLE_WISH && machine->is_set[k])
            y[keys[k]] = value;
    }
}

/* Parameters that follow from others: what is not set is as the model has it. */
static void show_parameters(Machine *machine)
{
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    const Real *factors = REALS(data, FACTORS), *settings = reals(machine, R_SETTINGS), *X = state_of(machine);
    for (size_t k = 0; k < variables_of(data); k++) {
        if (machine->is_set[k])
            continue;
        if (roles[k] == ROLE_WISH)
            machine->values[k] = X[(size_t)NUMBER(data, AT_Y) + (size_t)keys[k]] / factors[k];
        else if (roles[k] == ROLE_WEIGHT)
            machine->values[k] = X[(size_t)NUMBER(data, AT_GRAVITY) + (size_t)keys[k]];
        else if (roles[k] == ROLE_STEP || roles[k] == ROLE_RTOL || roles[k] == ROLE_ATOL)
            machine->values[k] = settings[roles[k] == ROLE_STEP ? SETTING_STEP
                                                                : roles[k] == ROLE_RTOL ? SETTING_RTOL : SETTING_ATOL];
    }
}

/* The machine as the parameters want it, where it begins; NULL, or what is wrong. */
static String make(Machine *machine, const Block *block)
{
    const Data *data = machine->data;
    String why = NULL;
    int64_t method = chosen_method(machine, &why);
    if (method < 0)
        return why;
    if (!lay_out(machine, method))
        return text_of(data, SECTION_WORDS, TEXT_NO_MEMORY);
    why = set_up(machine, block);
    if (!why)
        why = take_parameters(machine);
    if (why)
        return why;
    Real start = block->start == block->start ? block->start : NUMBER(data, START);
    Real stop = block->stop == block->stop ? block->stop : NUMBER(data, STOP);
    fill(machine);
    int64_t wrong = at_time(machine, ENTRY_PLACE, start);
    if (!wrong)
        wrong = over(machine, ENTRY_START, start, stop > start ? stop : start + 1.0);
    return wrong ? why_of(machine, wrong, 0.0) : NULL;
}

/* The machine with the inputs as they are; made anew while parameters and inputs may still change it. */
String moving(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    if (block->mode <= INITIALISING) {
        if (block->changed || !machine->made) {
            String why = make(machine, block);
            machine->made = !why;
            if (why)
                return why;
            show_parameters(machine);
        }
    } else if (!machine->made) {
        return text_of(machine->data, SECTION_WORDS, TEXT_NOT_INITIALISED);
    } else if (block->changed) {
        const int64_t *roles = INTS(machine->data, ROLES);
        const Real *factors = REALS(machine->data, FACTORS);
        Real *inputs = state_of(machine) + X_INPUTS;
        for (size_t k = 0; k < variables_of(machine->data); k++)
            if (roles[k] == ROLE_AN_INPUT)
                *inputs++ = machine->values[k] * factors[k];
    }
    block->changed = 0;
    return NULL;
}

Status wrong(Instance *instance, Status status, String why)
{
    instance->block.why = why;
    return status;
}
