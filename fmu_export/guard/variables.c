/* FMI 2.0: the functions that read and write variables, and their derivatives; and what fmi3.c shares with them. */
#include "faces.h"
#include "system.h"

size_t stranger(const Block *block, const Reference *references, size_t n, unsigned kind)
{
    size_t k = 0;
    while (k < n && references[k] < block->n && (block->kinds[references[k]] & kind))
        k++;
    return k;
}

/* ---- variables */

static Status ask(Instance *instance, String name, int what)
{
    return answered(instance, name, inside.ask(instance, what));
}

Status make_fresh(Instance *instance, String name, unsigned kinds)
{
    Block *block = &instance->block;
    static const int asks[] = {0, REFRESH, COMPLETE, STATES};
    int needed = kinds & (IS_STATE | IS_RATE | IS_INDICATOR) ? 3 : kinds & IS_COMPUTED ? 2 : kinds & IS_DIRECT ? 1 : 0;
    if (needed > block->asked)
        block->asked = needed;
    return needed > block->fresh ? ask(instance, name, asks[needed]) : OK;
}

EXPORT Status fmi2GetReal(Component c, const Reference vr[], size_t nvr, Real value[])
{
    BEGIN("fmi2GetReal", READING);
    if (nvr) {
        NOT_NULL(vr);
        NOT_NULL(value);
    }
    unsigned kinds = 0;
    for (size_t k = 0; k < nvr; k++) {
        if (vr[k] >= block->n || !(block->kinds[vr[k]] & IS_REAL))
            return refuse(instance, ERROR, name, NO_SUCH, "Real", vr[k], 0.0, 0.0);
        kinds |= block->kinds[vr[k]];
    }
    Status status = make_fresh(instance, name, kinds);
    if (status >= ERROR)
        return status;
    for (size_t k = 0; k < nvr; k++)
        value[k] = block->values[vr[k]];
    return status;
}

Status none(Instance *instance, String name, String type, const Reference *references, size_t n)
{
    if (!n)
        return OK;
    NOT_NULL(references);
    return refuse(instance, ERROR, name, NO_SUCH, type, references[0], 0.0, 0.0);
}

EXPORT Status fmi2GetInteger(Component c, const Reference vr[], size_t nvr, Integer value[])
{
    (void)value;
    BEGIN("fmi2GetInteger", READING);
    return none(instance, name, "Integer", vr, nvr);
}

EXPORT Status fmi2GetBoolean(Component c, const Reference vr[], size_t nvr, Boolean value[])
{
    (void)value;
    BEGIN("fmi2GetBoolean", READING);
    return none(instance, name, "Boolean", vr, nvr);
}

Status get_strings(Instance *instance, String name, const Reference *references, size_t n, String *values)
{
    Block *block = &instance->block;
    size_t k = stranger(block, references, n, IS_STRING);
    if (k < n)
        return refuse(instance, ERROR, name, NO_SUCH, "String", references[k], 0.0, 0.0);
    Status status = OK;
    if (stranger(block, references, n, IS_MESSAGE) < n)
        status = answered(instance, name, inside.get_string(instance, references, n, values));
    for (k = 0; status < ERROR && k < n; k++)
        if (block->kinds[references[k]] & IS_MESSAGE)
            values[k] = block->message ? block->message : "";
    return status;
}

EXPORT Status fmi2GetString(Component c, const Reference vr[], size_t nvr, String value[])
{
    BEGIN("fmi2GetString", READING);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(value);
    return get_strings(instance, name, vr, nvr, value);
}

/* Whether all of these may be written now. */
static Status writable(Instance *instance, String name, String type, unsigned kind, const Reference *references, size_t n)
{
    Block *block = &instance->block;
    for (size_t k = 0; k < n; k++) {
        Reference r = references[k];
        unsigned kinds = r < block->n ? block->kinds[r] : 0;
        if (!(kinds & kind))
            return refuse(instance, ERROR, name, NO_SUCH, type, r, 0.0, 0.0);
        if (!(kinds & (IS_INPUT | IS_PARAMETER)))
            return refuse(instance, ERROR, name, CANNOT_BE_SET, NULL, r, 0.0, 0.0);
        if ((block->mode & (STEPPING | EVENT | CONTINUOUS | HANDLING)) && !(kinds & (IS_INPUT | IS_TUNABLE)))
            return refuse(instance, ERROR, name, IS_FIXED, NULL, r, 0.0, 0.0);
        if (block->mode == CONTINUOUS && !(kinds & IS_INPUT))
            return refuse(instance, ERROR, name, IN_EVENT_MODE, NULL, r, 0.0, 0.0);
    }
    return OK;
}

/* The answer to values of parameters; if they are discarded, with their names. */
static Status not_taken(Instance *instance, String name, const Reference *references, size_t n, Status status)
{
    Block *block = &instance->block;
    if (status != DISCARD || !block->why)
        return answered(instance, name, status);
    Text *text = begin(instance, name);
    for (size_t k = 0; k < n; k++) {
        put_name(text, block, references[k]);
        put(text, k + 1 < n ? ", " : ": ");
    }
    put(text, block->why);
    tell_text(instance, status);
    return status;
}

Status set_reals(Instance *instance, String name, String type, const Reference *references, size_t n,
                 const Real *values)
{
    Block *block = &instance->block;
    Status status = writable(instance, name, type, IS_REAL, references, n);
    if (status)
        return status;
    size_t inputs = 0;
    for (size_t k = 0; k < n; k++) {
        /* a value that cannot be taken: nothing is set, and the FMU goes on with what it has */
        if (!finite(values[k]))
            return refuse(instance, DISCARD, name, NOT_FINITE, NULL, references[k], values[k], 0.0);
        inputs += (block->kinds[references[k]] & IS_INPUT) != 0;
    }
    if (inputs < n)
        status = not_taken(instance, name, references, n, inside.set_real(instance, references, n, values));
    if (status >= DISCARD)
        return status;
    for (size_t k = 0; k < n; k++)
        block->values[references[k]] = values[k];
    block->changed = 1, block->fresh = 0;
    return status;
}

EXPORT Status fmi2SetReal(Component c, const Reference vr[], size_t nvr, const Real value[])
{
    BEGIN("fmi2SetReal", WRITING);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(value);
    return set_reals(instance, name, "Real", vr, nvr, value);
}

EXPORT Status fmi2SetInteger(Component c, const Reference vr[], size_t nvr, const Integer value[])
{
    (void)value;
    BEGIN("fmi2SetInteger", WRITING);
    return none(instance, name, "Integer", vr, nvr);
}

EXPORT Status fmi2SetBoolean(Component c, const Reference vr[], size_t nvr, const Boolean value[])
{
    (void)value;
    BEGIN("fmi2SetBoolean", WRITING);
    return none(instance, name, "Boolean", vr, nvr);
}

Status set_strings(Instance *instance, String name, const Reference *references, size_t n, const String *value)
{
    Block *block = &instance->block;
    Status status = writable(instance, name, "String", IS_STRING, references, n);
    if (status)
        return status;
    for (size_t k = 0; k < n; k++) {
        NOT_NULL(value[k]);
        if (!is_text(value[k]))
            return refuse(instance, ERROR, name, NOT_TEXT, NULL, references[k], 0.0, 0.0);
    }
    block->fresh = 0;
    return answered(instance, name, inside.set_string(instance, references, n, value));
}

EXPORT Status fmi2SetString(Component c, const Reference vr[], size_t nvr, const String value[])
{
    BEGIN("fmi2SetString", WRITING);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(value);
    return set_strings(instance, name, vr, nvr, value);
}

/* ---- derivatives */

/* Whether parameters are known, which is in initialisation mode. */
static int starts(const Block *block, const Reference *known, size_t n)
{
    int found = 0;
    for (size_t k = 0; k < n; k++)
        found |= known[k] < block->n && (block->kinds[known[k]] & IS_PARAMETER);
    return found && block->mode == INITIALISING;
}

Status check_unknowns(Instance *instance, String name, const Reference *unknown, size_t n_unknown,
                      const Reference *known, size_t n_known)
{
    Block *block = &instance->block;
    /* in co-simulation states are not known: they are the FMU's own */
    int exchanges = instance->type == MODEL_EXCHANGE;
    size_t k = stranger(block, unknown, n_unknown, exchanges ? IS_OUTPUT | IS_STATE | IS_RATE : IS_OUTPUT);
    if (k < n_unknown)
        return refuse(instance, ERROR, name, NOT_UNKNOWN, NULL, unknown[k], 0.0, 0.0);
    /* states follow from start values, so that both are not known together */
    exchanges &= !starts(block, known, n_known);
    for (k = 0; k < n_known; k++) {
        unsigned kinds = known[k] < block->n ? block->kinds[known[k]] : 0;
        int parameter = block->mode == INITIALISING && (kinds & IS_PARAMETER);
        if (!(kinds & IS_REAL) || !(parameter || (kinds & IS_INPUT) || (exchanges && (kinds & IS_STATE))))
            return refuse(instance, ERROR, name, NOT_KNOWN, NULL, known[k], 0.0, 0.0);
    }
    return OK;
}

Status along(Instance *instance, String name, const Reference *unknown, size_t n_unknown, const Reference *known,
             size_t n_known, const Real *direction, Real *out)
{
    Block *block = &instance->block;
    for (size_t k = 0; k < n_known; k++)
        if (!finite(direction[k]))
            return refuse(instance, ERROR, name, NOT_FINITE, NULL, known[k], direction[k], 0.0);
    if (!n_unknown)
        return OK;
    /* also inputs: of prescribed motions, on which the state depends then */
    if (starts(block, known, n_known) || (block->mode == INITIALISING && instance->type == CO_SIMULATION))
        return along_start_values(instance, name, unknown, n_unknown, known, n_known, direction, out);
    block->references = unknown, block->n_references = n_unknown;
    block->known = known, block->n_known = n_known;
    block->given = direction, block->out = out;
    return ask(instance, name, DIRECTIONAL);
}

EXPORT Status fmi2GetDirectionalDerivative(Component c, const Reference vUnknown_ref[], size_t nUnknown,
                                           const Reference vKnown_ref[], size_t nKnown, const Real dvKnown[],
                                           Real dvUnknown[])
{
    BEGIN("fmi2GetDirectionalDerivative", READING);
    if (nUnknown) {
        NOT_NULL(vUnknown_ref);
        NOT_NULL(dvUnknown);
    }
    if (nKnown) {
        NOT_NULL(vKnown_ref);
        NOT_NULL(dvKnown);
    }
    Status status = check_unknowns(instance, name, vUnknown_ref, nUnknown, vKnown_ref, nKnown);
    if (status)
        return status;
    return along(instance, name, vUnknown_ref, nUnknown, vKnown_ref, nKnown, dvKnown, dvUnknown);
}

/* The answer to derivatives of inputs: a warning about those that are not used.  Once for each input, because masters
 * that give derivatives give them in every step. */
static Status told_unused(Instance *instance, String name, const Reference *references, size_t n, const Integer *orders,
                          Status status)
{
    Block *block = &instance->block;
    Text *text = NULL;
    for (size_t k = 0; status == OK && k < n; k++) {
        int motion = block->kinds[references[k]] & IS_MOTION;
        if (!motion && orders[k] <= 2)
            continue;
        if (!instance->told && !(instance->told = grab(block->n)))
            return status;
        if (instance->told[references[k]])
            continue;
        instance->told[references[k]] = 1;
        if (text)
            put(text, "; ");
        else
            text = begin(instance, name);
        put_name(text, block, references[k]);
        if (motion) {
            put(text, ": its rate and acceleration are inputs of their own");
        } else {
            put(text, ": the order is ");
            put_integer(text, orders[k]);
            put(text, ", and those above 2 are not used");
        }
    }
    if (!text)
        return status;
    put(text, ".");
    tell_text(instance, WARNING);
    return WARNING;
}

EXPORT Status fmi2SetRealInputDerivatives(Component c, const Reference vr[], size_t nvr, const Integer order[],
                                          const Real value[])
{
    BEGIN("fmi2SetRealInputDerivatives", WRITING & ~(EVENT | CONTINUOUS));
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(order);
    NOT_NULL(value);
    size_t k = stranger(block, vr, nvr, IS_INPUT);
    if (k < nvr)
        return refuse(instance, ERROR, name, NO_SUCH, "input", vr[k], 0.0, 0.0);
    for (k = 0; k < nvr; k++)
        if (order[k] < 1)
            return refuse(instance, ERROR, name, NO_ORDER, "1 or more", vr[k], order[k], 0.0);
    for (k = 0; k < nvr; k++)
        if (!finite(value[k]))
            return refuse(instance, DISCARD, name, NOT_FINITE, NULL, vr[k], value[k], 0.0);
    block->references = vr, block->n_references = nvr;
    block->orders = order, block->given = value;
    return told_unused(instance, name, vr, nvr, order, ask(instance, name, INPUT_RATES));
}

Status output_rates(Instance *instance, String name, const Reference *references, size_t n, Real *out)
{
    instance->block.references = references, instance->block.n_references = n;
    instance->block.out = out;
    return ask(instance, name, OUTPUT_RATES);
}

EXPORT Status fmi2GetRealOutputDerivatives(Component c, const Reference vr[], size_t nvr, const Integer order[],
                                           Real value[])
{
    BEGIN("fmi2GetRealOutputDerivatives", RATES);
    if (!nvr)
        return OK;
    NOT_NULL(vr);
    NOT_NULL(order);
    NOT_NULL(value);
    size_t k = stranger(block, vr, nvr, IS_OUTPUT);
    if (k < nvr)
        return refuse(instance, ERROR, name, NO_SUCH, "output", vr[k], 0.0, 0.0);
    for (k = 0; k < nvr; k++)
        if (order[k] != 1)
            return refuse(instance, ERROR, name, NO_ORDER, "1", vr[k], order[k], 0.0);
    return output_rates(instance, name, vr, nvr, value);
}
