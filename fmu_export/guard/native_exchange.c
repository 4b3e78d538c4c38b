/* A native FMU whose states somebody else integrates: as Inside (fmu.h) says, by kernels of liegeo/machine/exchange.py. */
#include "native.h"

/* The answer of a kernel; an integrator may try a point where there is none, and go on from another. */
static Status answer_of(Instance *instance, int64_t answer, Status status)
{
    Machine *machine = instance->machine;
    return answer ? wrong(instance, status, why_of(machine, answer, 0.0)) : OK;
}

static Status entered(Instance *instance, int entry, Real *array, size_t n, Status status)
{
    String why = moving(instance);
    return why ? wrong(instance, ERROR, why)
               : answer_of(instance, with_array(instance->machine, entry, array, n), status);
}

Status set_time(Instance *instance, Real t)
{
    String why = moving(instance);
    state_of(instance->machine)[X_TIME] = t;
    return why ? wrong(instance, ERROR, why) : OK;
}

Status set_states(Instance *instance, const Real *x)
{
    with_array(instance->machine, ENTRY_WRITE_STATES, x, instance->n_states);
    return OK;
}

Status get_states(Instance *instance, Real *x)
{
    return entered(instance, ENTRY_READ_STATES, x, instance->n_states, ERROR);
}

Status get_rates(Instance *instance, Real *rates)
{
    return entered(instance, ENTRY_RATES, rates, instance->n_states, DISCARD);
}

Status get_indicators(Instance *instance, Real *indicators)
{
    return entered(instance, ENTRY_INDICATORS, indicators, instance->n_indicators, DISCARD);
}

Status get_nominals(Instance *instance, Real *x)
{
    const Real *nominals = REALS(((Machine *)instance->machine)->data, NOMINALS);
    for (size_t k = 0; k < instance->n_states; k++)
        x[k] = nominals[k];
    return OK;
}

Status completed_step(Instance *instance, Boolean *event)
{
    Real found[1] = {0.0};
    Status status = entered(instance, ENTRY_COMPLETED, found, 1, ERROR);
    *event = found[0] != 0.0;
    return status;
}

Status new_discrete_states(Instance *instance, Boolean *changed, Real *next)
{
    Real found[2] = {0.0, 0.0};
    Status status = entered(instance, ENTRY_EVENT, found, 2, ERROR);
    *changed = found[0] != 0.0, *next = found[1];
    return status;
}

Status next_event(Instance *instance, Real t, Real *next)
{
    String why = moving(instance);
    if (why)
        return wrong(instance, ERROR, why);
    Real found[1] = {t};
    with_array(instance->machine, ENTRY_NEXT_EVENT, found, 1);
    *next = found[0];
    return OK;
}

void take_states(Instance *instance)
{
    Machine *machine = instance->machine;
    const int64_t *roles = INTS(machine->data, ROLES), *keys = INTS(machine->data, KEYS);
    size_t n = instance->n_states, m = instance->n_indicators;
    Real *states = machine->exchanged, *rates = states + n, *indicators = rates + n;
    /* an FMU without variables for them, as in FMI 3.0, has no room for them either */
    if (!n)
        return;
    with_array(machine, ENTRY_READ_STATES, states, n);
    if (with_array(machine, ENTRY_RATES, rates, n))
        for (size_t k = 0; k < n; k++)
            rates[k] = 0.0 / 0.0;
    if (m && with_array(machine, ENTRY_INDICATORS, indicators, m))
        for (size_t k = 0; k < m; k++)
            indicators[k] = 0.0 / 0.0;
    for (size_t k = saved_variables(machine->data); k < variables_of(machine->data); k++)
        machine->values[k] = roles[k] == ROLE_A_STATE   ? states[keys[k]]
                             : roles[k] == ROLE_A_RATE ? rates[keys[k]]
                                                       : indicators[keys[k]];
}

Status along_states(Instance *instance)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    const Real *factors = REALS(data, FACTORS), *shown = reals(machine, R_SHOWN);
    size_t n = instance->n_states, m = (size_t)NUMBER(data, N_INPUTS);
    size_t input = of_role(data, ROLE_AN_INPUT), output = of_role(data, ROLE_AN_OUTPUT);
    Real *directions = machine->exchanged;
    for (size_t k = 0; k < n + m; k++)
        directions[k] = 0.0;
    for (size_t k = 0; k < block->n_known; k++) {
        Reference r = block->known[k];
        if (roles[r] == ROLE_A_STATE)
            directions[keys[r]] += block->given[k];
        else
            directions[n + r - input] += block->given[k] * factors[r];
    }
    Status status = answer_of(instance, with_array(machine, ENTRY_ALONG, directions, 2 * n + m), ERROR);
    for (size_t k = 0; !status && k < block->n_references; k++) {
        Reference r = block->references[k];
        if (roles[r] == ROLE_A_STATE)
            block->out[k] = directions[keys[r]];
        else
            block->out[k] = roles[r] == ROLE_A_RATE ? directions[n + m + (size_t)keys[r]] : shown[r - output] / factors[r];
    }
    /* what was shown before is written over */
    block->fresh = 0;
    return status;
}
