/* States of a native FMU as bytes, the same as Python's (fmu_export/saved_state.py):
 *
 * DATA_STATE, then: mode, changed, numbers of variables, of numbers of the machine (0: there is none) and of bytes of
 * texts; start, stop, tolerance, time; of each variable its value and whether it was set; slopes; the machine's state;
 * texts: of variables of type String that can be set; names and values of parameters of the model file that were set,
 * which are not among the variables; an empty one.
 */
#include "native.h"

/* A state that somebody keeps. */
typedef struct {
    size_t n;
    char bytes[];
} Saved;

enum { STATE_HEAD = 16 + 64, STATE_INTS = 5, STATE_REALS = 4 };

static Real *state_numbers(char *bytes)
{
    return (Real *)(void *)(bytes + STATE_HEAD);
}

/* Whether a variable is of type String and can be set. */
static int is_setting(const Data *data, size_t k)
{
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    return (kinds[k] & IS_STRING) && (kinds[k] & IS_PARAMETER);
}

/* How many values a state has: of the variables of both kinds of FMU but for parameters of the model file. */
static size_t values_kept(const Data *data)
{
    const int64_t *roles = INTS(data, ROLES);
    size_t n = 0;
    for (size_t k = 0; k < saved_variables(data); k++)
        n += roles[k] != ROLE_OF_FILE;
    return n;
}

Status get_state(Instance *instance, State *state)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    const Data *data = machine->data;
    if (block->mode & (STEPPING | FAILED | TERMINATED | EVENT | CONTINUOUS | HANDLING))
        moving(instance);
    size_t n = saved_variables(data), inputs = (size_t)NUMBER(data, N_INPUTS), texts = 1, text = 0;
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    for (size_t k = 0, number = 0; k < n; number += (kinds[k++] & IS_STRING) != 0)
        if (is_setting(data, k))
            texts += length(machine->texts[number]) + 1;
    size_t moved = machine->made ? (size_t)machine->R[R_N_STATE] : 0;
    texts += keep_parameters(machine, NULL);
    size_t kept = values_kept(data);
    size_t numbers = STATE_INTS + STATE_REALS + 2 * kept + 2 * inputs + moved, bytes = STATE_HEAD + 8 * numbers + texts;
    Saved *saved = grab(sizeof *saved + bytes);
    if (!saved)
        return wrong(instance, ERROR, text_of(data, SECTION_WORDS, TEXT_NO_MEMORY));
    saved->n = bytes;
    static const char magic[17] = "liegeo-state-7\n";
    const char *identity = section(data, SECTION_IDENTITY, NULL);
    for (size_t k = 0; k < 16; k++)
        saved->bytes[k] = magic[k];
    for (size_t k = 0; k < 64; k++)
        saved->bytes[16 + k] = identity[k];
    Real *out = state_numbers(saved->bytes);
    const Real head[] = {block->mode, block->changed, (Real)kept, (Real)moved, (Real)texts,
                         block->start, block->stop, block->tolerance, block->time};
    for (size_t k = 0; k < STATE_INTS + STATE_REALS; k++)
        *out++ = head[k];
    const int64_t *roles = INTS(data, ROLES);
    for (size_t k = 0; k < n; k++)
        /* outputs follow from the rest */
        if (roles[k] != ROLE_OF_FILE)
            *out++ = roles[k] == ROLE_AN_OUTPUT || !(kinds[k] & IS_REAL) ? 0.0 : machine->values[k];
    for (size_t k = 0; k < n; k++)
        if (roles[k] != ROLE_OF_FILE)
            *out++ = machine->is_set[k];
    for (size_t k = 0; k < 2 * inputs; k++)
        *out++ = machine->slopes[k];
    for (size_t k = 0; k < moved; k++)
        *out++ = state_of(machine)[k];
    char *into = (char *)out;
    for (size_t k = 0; k < n; text += (kinds[k++] & IS_STRING) != 0)
        if (is_setting(data, k)) {
            for (const char *from = machine->texts[text]; *from; from++)
                *into++ = *from;
            *into++ = 0;
        }
    into[keep_parameters(machine, into)] = 0;
    *state = saved;
    return OK;
}

/* NULL, or what is wrong with the bytes of a state. */
static String misfit(Machine *machine, const char *bytes, size_t n)
{
    const Data *data = machine->data;
    static const char magic[17] = "liegeo-state-7\n";
    const char *identity = section(data, SECTION_IDENTITY, NULL);
    int right = n > STATE_HEAD + 8 * (STATE_INTS + STATE_REALS);
    for (size_t k = 0; right && k < 16; k++)
        right = bytes[k] == magic[k];
    if (!right)
        return worded(machine, TEXT_NO_STATE, (Value[]){{text_of(data, SECTION_WORDS, TEXT_NO_BEGINNING), 0.0}}, 1);
    for (size_t k = 0; k < 64; k++)
        if (bytes[16 + k] != identity[k])
            return text_of(data, SECTION_WORDS, TEXT_OTHER_FMU);
    Real head[STATE_INTS];
    for (size_t k = 0; k < sizeof head; k++)
        ((char *)head)[k] = bytes[STATE_HEAD + k];
    /* numbers that are none make the sum none either */
    Real numbers = STATE_INTS + STATE_REALS + 2.0 * head[2] + 2.0 * NUMBER(data, N_INPUTS) + head[3];
    if (head[2] != (Real)values_kept(data) || !(head[3] >= 0.0) || !(head[4] >= 1.0) ||
        (Real)n != STATE_HEAD + 8.0 * numbers + head[4] || bytes[n - 1])
        return worded(machine, TEXT_NO_STATE, (Value[]){{text_of(data, SECTION_WORDS, TEXT_OTHER_SIZE), 0.0}}, 1);
    size_t settings = 0, texts = 0;
    for (size_t k = 0; k < saved_variables(data); k++)
        settings += (size_t)is_setting(data, k);
    for (const char *c = bytes + (n - (size_t)head[4]); c < bytes + n; c++)
        texts += !*c;
    if (texts < settings + 1)
        return worded(machine, TEXT_NO_STATE, (Value[]){{text_of(data, SECTION_WORDS, TEXT_OTHER_SIZE), 0.0}}, 1);
    /* what stands behind the settings are parameters of the model file that were set */
    const char *rest = bytes + (n - (size_t)head[4]);
    while (settings--)
        rest += length(rest) + 1;
    return wrong_parameters(data, rest, bytes + n);
}

Status set_state(Instance *instance, State state)
{
    Machine *machine = instance->machine;
    Block *block = &instance->block;
    const Data *data = machine->data;
    Saved *saved = state;
    const uint16_t *kinds = section(data, SECTION_KINDS, NULL);
    const int64_t *roles = INTS(data, ROLES);
    const Real *from = state_numbers(saved->bytes);
    size_t n = saved_variables(data), inputs = (size_t)NUMBER(data, N_INPUTS), moved = (size_t)from[3];
    size_t kept = values_kept(data);
    const char *text = saved->bytes + (saved->n - (size_t)from[4]);
    int mode = (int)from[0], exchanged = mode & (EVENT | CONTINUOUS);
    int handled = mode == HANDLING && !instance->event_mode;
    if (instance->type == MODEL_EXCHANGE ? mode & (STEPPING | FAILED | HANDLING) : exchanged || handled)
        return wrong(instance, ERROR, text_of(data, SECTION_WORDS, TEXT_OTHER_TYPE));
    /* by the same method it is the same record */
    int64_t before = machine->method;
    block->start = from[5], block->stop = from[6], block->tolerance = from[7], block->time = from[8];
    const Real *values = from + STATE_INTS + STATE_REALS, *set = values + kept, *slopes = set + kept;
    for (size_t k = 0, number = 0, i = 0; k < n; number += (kinds[k++] & IS_STRING) != 0) {
        if (roles[k] == ROLE_OF_FILE)
            continue;
        if (is_setting(data, k)) {
            char *copy = set[i] != 0.0 ? copied(text) : NULL;
            if (machine->is_set[k])
                drop((void *)(uintptr_t)machine->texts[number]);
            machine->texts[number] = copy ? copy : text_of(data, SECTION_STRINGS, number);
            machine->is_set[k] = copy != NULL;
            text += length(text) + 1;
        } else if (roles[k] != ROLE_AN_OUTPUT && (kinds[k] & IS_REAL)) {
            machine->values[k] = values[i];
            machine->is_set[k] = set[i] != 0.0;
        }
        i++;
    }
    int other = put_back_parameters(machine, text);
    for (size_t k = 0; k < 2 * inputs; k++)
        machine->slopes[k] = slopes[k];
    machine->made = 0;
    if (moved) {
        String why = NULL;
        int64_t method = chosen_method(machine, &why);
        int anew = method != before || other;
        if (!why && anew && !lay_out(machine, method))
            why = text_of(data, SECTION_WORDS, TEXT_NO_MEMORY);
        if (!why)
            why = set_up(machine, block);
        if (!why && anew)
            why = take_parameters(machine);
        if (!why && (int64_t)moved != machine->R[R_N_STATE])
            why = text_of(data, SECTION_WORDS, TEXT_OTHER_SIZE);
        if (why)
            return wrong(instance, ERROR, why);
        Real *X = state_of(machine), *y = X + (size_t)NUMBER(data, AT_Y);
        const Real *numbers = slopes + 2 * inputs;
        /* tolerances that the method has in its coefficients follow from the settings */
        fill(machine);
        over(machine, ENTRY_START, block->start == block->start ? block->start : NUMBER(data, START), 0.0);
        for (size_t k = 0; k < moved; k++)
            X[k] = numbers[k];
        plain(machine, ENTRY_RESTORED);
        for (size_t k = 0; k < (size_t)NUMBER(data, N_ELEMENT); k++)
            reals(machine, R_BEGAN)[k] = y[k];
        machine->made = 1;
    }
    block->mode = (int32_t)from[0], block->changed = (int32_t)from[1], block->fresh = 0;
    return OK;
}

Status free_state(Instance *instance, State state)
{
    (void)instance;
    drop(state);
    return OK;
}

Status state_size(Instance *instance, State state, size_t *n)
{
    (void)instance;
    *n = ((Saved *)state)->n;
    return OK;
}

Status state_to_bytes(Instance *instance, State state, Byte *bytes, size_t n)
{
    (void)instance;
    for (size_t k = 0; k < n; k++)
        bytes[k] = ((Saved *)state)->bytes[k];
    return OK;
}

Status state_from_bytes(Instance *instance, const Byte *bytes, size_t n, State *state)
{
    String why = misfit(instance->machine, bytes, n);
    Saved *saved = why ? NULL : grab(sizeof *saved + n);
    if (!saved)
        return wrong(instance, ERROR, why ? why : "there is no memory.");
    saved->n = n;
    for (size_t k = 0; k < n; k++)
        saved->bytes[k] = bytes[k];
    *state = saved;
    return OK;
}
