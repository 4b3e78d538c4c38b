/* Parameters of the model file: their program (liegeo/machine/tuning.py), what it writes to, and how states keep them.
 *
 * Instances share the numbers of the model until one sets a parameter, which then has copies of its own.
 */
#include "native.h"

/* Arrays of the instance's own in the place of the shared ones that the program writes; whether there was memory. */
static int own_arrays(Machine *machine)
{
    const Data *data = machine->data;
    const int64_t *rows = INTS(data, OWN);
    const char *blob = section(data, SECTION_BLOB, NULL);
    size_t n = count(data, SECTION_OWN, 3 * sizeof *rows), registers = (size_t)machine->R[R_REGISTERS + 1], doubles = registers + 4;
    if (machine->own)
        return 1;
    for (size_t k = 0; k < n; k++)
        doubles += (size_t)rows[3 * k + 2] + 1;
    Real *next = grab(doubles * sizeof *next);
    if (!next)
        return 0;
    machine->own = next;
    /* registers and gravity as they were, while other values are tried */
    next += registers + 4;
    for (size_t k = 0; k < n; k++) {
        const int64_t *row = rows + 3 * k;
        const Real *from = (const Real *)(const void *)(blob + row[1]);
        for (int64_t i = 0; i < row[2]; i++)
            next[i] = from[i];
        if (row[0] < 0)
            use_model(machine, next);
        else
            machine->R[row[0]] = (int64_t)(intptr_t)next;
        next += row[2] + 1;
    }
    return 1;
}

static void put_register(Machine *machine, size_t variable, Real value)
{
    Real *at = reals(machine, R_REGISTERS) + INTS(machine->data, KEYS)[variable];
    at[0] = value * REALS(machine->data, FACTORS)[variable], at[1] = 1.0;
}

/* Run the program; NULL, or what is wrong, and then nothing is written. */
static String compute(Machine *machine)
{
    const Data *data = machine->data;
    int64_t answer = plain(machine, ENTRY_COMPUTE);
    if (!answer)
        return NULL;
    if (answer < 0)
        return text_of(data, SECTION_WORDS, TEXT_NO_NUMBER);
    size_t guard = (size_t)answer - 1;
    Value shown = {NULL, reals(machine, R_REGISTERS)[INTS(data, REFUSED)[guard]]};
    return filled(machine, text_of(data, SECTION_REFUSALS, guard), &shown, 1);
}

/* Whether a variable is a parameter of the file that was set. */
static int is_given(const Machine *machine, size_t k)
{
    return INTS(machine->data, ROLES)[k] == ROLE_OF_FILE && machine->is_set[k];
}

/* Let a record that was just laid out follow the parameters that are set; NULL, or what is wrong. */
String take_parameters(Machine *machine)
{
    int given = 0;
    for (size_t k = 0; k < variables_of(machine->data); k++)
        given |= is_given(machine, k);
    if (!given)
        return NULL;
    if (!own_arrays(machine))
        return text_of(machine->data, SECTION_WORDS, TEXT_NO_MEMORY);
    for (size_t k = 0; k < variables_of(machine->data); k++)
        if (is_given(machine, k))
            put_register(machine, k, machine->values[k]);
    return compute(machine);
}

/* Go on with other values of tunable parameters, all or none; NULL, or what is wrong. */
String tune(Machine *machine, const Reference *references, size_t n, const Real *values)
{
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES), *keys = INTS(data, KEYS);
    if (!own_arrays(machine))
        return text_of(data, SECTION_WORDS, TEXT_NO_MEMORY);
    Real *registers = reals(machine, R_REGISTERS), *before = machine->own;
    Real *weight = state_of(machine) + (size_t)NUMBER(data, AT_GRAVITY);
    size_t many = (size_t)machine->R[R_REGISTERS + 1];
    for (size_t k = 0; k < many; k++)
        before[k] = registers[k];
    for (size_t k = 0; k < 3; k++)
        before[many + k] = weight[k];
    for (size_t k = 0; k < n; k++)
        if (roles[references[k]] == ROLE_OF_FILE)
            put_register(machine, references[k], values[k]);
    String why = compute(machine);
    int refused = why != NULL;
    if (!why) {
        /* gravity that nobody set is that of the model */
        for (size_t k = 0; k < variables_of(data); k++)
            if (roles[k] == ROLE_WEIGHT && !machine->is_set[k])
                weight[keys[k]] = reals(machine, R_WEIGHT)[keys[k]];
        for (size_t k = 0; k < n; k++)
            if (roles[references[k]] == ROLE_WEIGHT)
                weight[keys[references[k]]] = values[k] * REALS(data, FACTORS)[references[k]];
        int64_t answer = plain(machine, ENTRY_GO_ON);
        why = answer ? why_of(machine, answer, 0.0) : NULL;
    }
    if (!why)
        return NULL;
    for (size_t k = 0; k < many; k++)
        registers[k] = before[k];
    for (size_t k = 0; k < 3; k++)
        weight[k] = before[many + k];
    if (!refused) {
        plain(machine, ENTRY_COMPUTE);
        plain(machine, ENTRY_RESTORED);
    }
    return why;
}

/* ---- in saved states: by parameter that was set its name, and as 32 digits its value in SI and as it is shown */

static const char digits[17] = "0123456789abcdef";

static char *put_digits(char *into, Real value)
{
    union {
        Real real;
        uint64_t bits;
    } both = {value};
    for (int k = 60; k >= 0; k -= 4)
        *into++ = digits[both.bits >> k & 15];
    return into;
}

/* The number in 16 digits; whether they are digits. */
static int read_digits(const char *from, Real *value)
{
    union {
        Real real;
        uint64_t bits;
    } both = {0.0};
    for (int k = 0; k < 16; k++) {
        int d = 0;
        while (d < 16 && digits[d] != from[k])
            d++;
        if (d == 16)
            return 0;
        both.bits = both.bits << 4 | (uint64_t)d;
    }
    *value = both.real;
    return 1;
}

/* Write the parameters that were set behind each other, if `into` is not NULL; return how many bytes they take. */
size_t keep_parameters(const Machine *machine, char *into)
{
    const Data *data = machine->data;
    size_t bytes = 0;
    for (size_t k = 0; k < variables_of(data); k++) {
        if (!is_given(machine, k))
            continue;
        String name = data->names[k];
        bytes += length(name) + 1 + 33;
        if (!into)
            continue;
        while (*name)
            *into++ = *name++;
        *into++ = 0;
        into = put_digits(put_digits(into, machine->values[k] * REALS(data, FACTORS)[k]), machine->values[k]);
        *into++ = 0;
    }
    return bytes;
}

/* The variable of a parameter of the file by name, or the number of variables. */
static size_t named(const Data *data, String name)
{
    const int64_t *roles = INTS(data, ROLES);
    size_t k = 0, n = variables_of(data);
    while (k < n && !(roles[k] == ROLE_OF_FILE && same(data->names[k], name)))
        k++;
    return k;
}

/* NULL, or what is wrong with parameters in the bytes of a state, which end with a zero. */
String wrong_parameters(const Data *data, const char *from, const char *end)
{
    Real value;
    while (from < end && *from) {
        if (named(data, from) == variables_of(data))
            return text_of(data, SECTION_WORDS, TEXT_FILE_PARAMETERS);
        from += length(from) + 1;
        if (end - from < 33 || length(from) != 32 || !read_digits(from, &value) || !read_digits(from + 16, &value) ||
            value - value != 0.0)
            return text_of(data, SECTION_WORDS, TEXT_OTHER_SIZE);
        from += 33;
    }
    return NULL;
}

/* Set the parameters of a state, and no others; whether any are other ones than before. */
int put_back_parameters(Machine *machine, const char *from)
{
    const Data *data = machine->data;
    const int64_t *roles = INTS(data, ROLES);
    int other = 0;
    for (size_t k = 0; k < variables_of(data); k++) {
        if (roles[k] != ROLE_OF_FILE)
            continue;
        const char *at = from;
        Real value = REALS(data, VALUES)[k];
        while (*at && !same(at, data->names[k]))
            at += length(at) + 1 + 33;
        int given = *at != 0;
        if (given)
            read_digits(at + length(at) + 1 + 16, &value);
        other |= given != machine->is_set[k] || value != machine->values[k];
        machine->is_set[k] = (char)given;
        machine->values[k] = value;
    }
    return other;
}
