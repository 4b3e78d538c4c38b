/* What an FMU says: messages and their way into the host's log, and why a call is refused. */
#include "fmu.h"
#include "system.h"

/* ---- texts */

static void put_some(Text *text, const char *from, size_t n)
{
    if (text->n + n >= text->room) {
        size_t room = 2 * (text->n + n) + 256;
        char *data = grab(room);
        if (!data)
            return;
        for (size_t k = 0; k < text->n; k++)
            data[k] = text->data[k];
        drop(text->data);
        text->data = data, text->room = room;
    }
    for (size_t k = 0; k < n; k++)
        text->data[text->n++] = from[k];
    text->data[text->n] = 0;
}

/* Texts of hosts may be no UTF-8. */
void put(Text *text, String more)
{
    for (const char *from = more; *more; from = more) {
        int n;
        while (*more && (n = character(more)))
            more += n;
        put_some(text, from, (size_t)(more - from));
        for (; *more && !character(more); more++)
            put_some(text, "\xef\xbf\xbd", 3);
    }
}

void put_number(Text *text, Real x, NumberStyle style)
{
    char digits[NUMBER_ROOM];
    put_some(text, digits, write_number(digits, x, style));
}

void put_integer(Text *text, long long x)
{
    char digits[NUMBER_ROOM];
    put_some(text, digits, write_integer(digits, x));
}

void put_name(Text *text, const Block *block, uint64_t reference)
{
    if (reference < block->n && block->names) {
        put(text, block->names[reference]);
    } else {
        put(text, "valueReference ");
        put_integer(text, (long long)reference);
    }
}

Text *begin(Instance *instance, String function)
{
    Text *text = &instance->text;
    text->n = 0;
    put(text, function);
    put(text, ": ");
    return text;
}

/* ---- the log */

static const char *const CATEGORIES[] = {"logAll", "logStatusWarning", "logStatusDiscard", "logStatusError"};

unsigned bit_of(String category)
{
    for (unsigned k = 0; k < 4; k++)
        if (same(category, CATEGORIES[k]))
            return 1u << k;
    return 0;
}

void say(Instance *instance, Status status, String category, String text)
{
    if (!(instance->host.logger || instance->log_message) || (status == OK && !instance->logging))
        return;
    if (!category || !*category)
        category = CATEGORIES[status > ERROR ? ERROR : status];
    unsigned bit = bit_of(category);
    if (instance->categories && bit && !(instance->categories & bit))
        return;
    if (instance->log_message) {
        instance->log_message(instance->host.environment, status, category, text);
        return;
    }
    size_t signs = 0;
    for (const char *c = text; *c; c++)
        signs += *c == '%';
    char *format = signs ? grab(length(text) + signs + 1) : NULL;
    if (format) {
        /* hosts may take it for a format of printf, which is what the standard calls it */
        char *into = format;
        for (const char *c = text; *c; c++) {
            *into++ = *c;
            if (*c == '%')
                *into++ = '%';
        }
    }
    instance->host.logger(instance->host.environment, instance->name, status, category, format ? format : text);
    drop(format);
}

void tell(Instance *instance, Status status, String text, String details)
{
    instance->block.message = text;
    char *all = details && *details ? joined(text, "\n", details) : NULL;
    say(instance, status, NULL, all ? all : text);
    drop(all);
}

void tell_text(Instance *instance, Status status)
{
    tell(instance, status, instance->text.data ? instance->text.data : "", instance->block.details);
}

/* ---- refusals */

/* {name} and {reference} are of the variable, {what} is an argument, a type or a category, {mode} are words; {x} and {y}
 * are written as Python does, {x:s} without ".0", {x:g} with six digits, {x:d} as a whole number. */
static const char *const REASONS[] = {
    [NOT_NOW] = "it is not allowed now: the FMU is {mode}.",
    [IS_NULL] = "{what} is NULL.",
    [NO_SUCH] = "valueReference {reference} is no {what}.",
    [CANNOT_BE_SET] = "{name} is a variable that cannot be set.",
    [IS_FIXED] = "{name} is fixed, and the FMU is {mode}.",
    [NOT_FINITE] = "{name}: the value is {x}, expected a finite number.",
    [TIMES] = "from {x} to {y}, expected finite times that rise.",
    [STEP_SIZE] = "from {x} s, {y} s long; expected a finite time and a size > 0.",
    [STEP_START] = "from {x:s} s, but the FMU is at {y:s} s.",
    [STEP_NOTHING] = "{y:g} s are nothing beside the time, {x:g} s.",
    [STEP_STOP] = "the step ends at {x:s} s, but {what} said that the run ends at {y:s} s.",
    [NO_STATUS] = "there is nothing to tell: no step is pending, and the FMU has no such status.",
    [NO_STATE] = "the state is none of this instance's: it was freed, or never made.",
    [TOO_SMALL] = "there is room for {x:d} bytes, but the state takes {y:d}.",
    [NO_ORDER] = "{name}: the order is {x:d}, expected {what}.",
    [NOT_KNOWN] = "{name} is not known where the FMU is {mode}: expected inputs, and parameters while initialising.",
    [NOT_UNKNOWN] = "{name} is no output.",
    [NO_CATEGORY] = "there is no category '{what}'.",
    [NOT_OFFERED] = "it belongs to model exchange, and the FMU is for co-simulation.",
    [NOT_TEXT] = "{name}: the text is not UTF-8.",
    [OTHER_NUMBER] = "{what} is {x:d}, expected {y:d}.",
    [NO_NUMBER] = "{what}[{x:d}] is {y}, expected a finite number.",
    [IN_EVENT_MODE] = "{name} can be set in event mode only, and the FMU is {mode}.",
    [NOT_PROVIDED] = "the FMU does not offer it: {what}.",
    [WRONG_SIZE] = "there is room for {x:d} values in {what}, but the variables have {y:d}.",
};

static String mode_in_words(int mode)
{
    switch (mode) {
    case NEW:
        return "instantiated";
    case INITIALISING:
        return "in initialisation mode";
    case STEPPING:
        return "initialised";
    case FAILED:
        return "where a step was discarded";
    case BETWEEN:
        return "within a step";
    case EVENT:
    case HANDLING:
        return "in event mode";
    case CONTINUOUS:
        return "in continuous-time mode";
    case TERMINATED:
        return "terminated";
    default:
        return "in the state that follows an error";
    }
}

static void put_value(Text *text, Real x, char style)
{
    if (style == 'd')
        put_integer(text, (long long)x);
    else
        put_number(text, x, style == 's' ? SHORT : style == 'g' ? SIX : AS_PYTHON);
}

Status refuse(Instance *instance, Status status, String function, int reason, String what, uint64_t reference, Real x,
              Real y)
{
    Block *block = &instance->block;
    if (block->mode == DEAD)
        return FATAL;
    Text *text = begin(instance, function);
    for (const char *c = REASONS[reason]; *c;) {
        if (*c != '{') {
            put_some(text, c++, 1);
            continue;
        }
        const char first = c[1], style = c[2] == ':' ? c[3] : 0;
        while (*c++ != '}')
            ;
        if (first == 'x' || first == 'y')
            put_value(text, first == 'x' ? x : y, style);
        else if (first == 'n')
            put_name(text, block, reference);
        else if (first == 'r')
            put_integer(text, (long long)reference);
        else
            put(text, first == 'm' ? mode_in_words(block->mode) : what);
    }
    block->details = NULL;
    tell_text(instance, status);
    if (status == ERROR)
        block->mode = BROKEN;
    return status;
}
