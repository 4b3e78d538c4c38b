/* Words of a native FMU: texts of the data file, in which {} is a value. */
#include "native.h"

static void put_until_value(Machine *machine, String *template)
{
    char one[2] = {0, 0};
    for (; **template && !((*template)[0] == '{' && (*template)[1] == '}'); (*template)++) {
        /* characters of more than a byte come whole: put mends what is none */
        const char *from = *template;
        int n = character(from);
        char many[5] = {0};
        for (int k = 0; k < n && k < 4; k++)
            many[k] = from[k];
        one[0] = *from;
        put(&machine->words, n > 1 ? many : one);
        *template += n > 1 ? n - 1 : 0;
    }
    if (**template)
        *template += 2;
}

static String template_of(Machine *machine, int text)
{
    machine->words.n = 0;
    return text_of(machine->data, SECTION_WORDS, (size_t)text);
}

String worded(Machine *machine, int text, const Value *values, int n)
{
    String template = template_of(machine, text);
    for (int k = 0; k < n; k++) {
        put_until_value(machine, &template);
        if (values[k].text)
            put(&machine->words, values[k].text);
        else
            put_number(&machine->words, values[k].number, SIX);
    }
    put_until_value(machine, &template);
    return machine->words.data ? machine->words.data : "";
}

static String status_words(const Data *data, int64_t status)
{
    const int64_t *known = INTS(data, STATUSES);
    size_t n = count(data, SECTION_STATUSES, sizeof *known);
    for (size_t k = 0; k < n; k++)
        if (known[k] == status)
            return text_of(data, SECTION_STATUS_WORDS, k);
    return "";
}

static Real largest(const Real *x, size_t n)
{
    Real most = 0.0;
    for (size_t k = 0; k < n; k++)
        if (!((x[k] < 0.0 ? -x[k] : x[k]) <= most))
            most = x[k] < 0.0 ? -x[k] : x[k];
    return most;
}

/* What an answer of a kernel means, before the state is taken back; `t` is when, `size` that of a step. */
String why_of(Machine *machine, int64_t why, Real t, Real size)
{
    const Data *data = machine->data;
    int64_t status = (int64_t)control_of(machine)[CONTROL_STATUS];
    Real step = reals(machine, R_SETTINGS)[SETTING_STEP];
    if (why == WHY_TOO_MANY)
        return worded(machine, TEXT_TOO_MANY, (Value[]){{NULL, size / step}, {NULL, step}, {NULL, size}}, 3);
    if (why == WHY_OPEN_LOOPS || why == WHY_NOT_ASSEMBLED || why == WHY_NO_ROTATION)
        return worded(machine, why == WHY_OPEN_LOOPS ? TEXT_OPEN : why == WHY_NO_ROTATION ? TEXT_NO_ROTATION
                                                                                          : TEXT_NOT_ASSEMBLED, NULL, 0);
    size_t n = (size_t)NUMBER(data, N_ELEMENT);
    Real now = largest(state_of(machine) + (size_t)NUMBER(data, AT_Y), n), then = largest(machine->start, n);
    if (then < 1.0)
        then = 1.0;
    if (why == WHY_STEP_FAILED && !(now <= 1e6 * then)) {
        char grows[256];
        String made = worded(machine, TEXT_GROWS, (Value[]){{NULL, now}, {NULL, then}}, 2);
        size_t k = 0;
        for (; made[k] && k + 1 < sizeof grows; k++)
            grows[k] = made[k];
        grows[k] = 0;
        return worded(machine, TEXT_AT, (Value[]){{NULL, t}, {grows, 0.0}}, 2);
    }
    return worded(machine, TEXT_AT, (Value[]){{NULL, t}, {status_words(data, status), 0.0}}, 2);
}
