/* Words of a native FMU: texts of the data file, in which {} is a value. */
#include "native.h"

/* Put a text up to its next value, or to its end; whether there is a value. */
static int put_until_value(Machine *machine, String *template)
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
    if (!**template)
        return 0;
    *template += 2;
    return 1;
}

String filled(Machine *machine, String template, const Value *values, int n)
{
    machine->words.n = 0;
    for (int k = 0; k < n && put_until_value(machine, &template); k++) {
        if (values[k].text)
            put(&machine->words, values[k].text);
        else
            put_number(&machine->words, values[k].number, SIX);
    }
    put_until_value(machine, &template);
    return machine->words.data ? machine->words.data : "";
}

String worded(Machine *machine, int text, const Value *values, int n)
{
    return filled(machine, text_of(machine->data, SECTION_WORDS, (size_t)text), values, n);
}

/* What an answer of a kernel means, before the state is taken back; `size` is that of a step. */
String why_of(Machine *machine, int64_t why, Real size)
{
    explain(machine, why, size);
    const Real *pieces = reals(machine, R_PIECES);
    machine->words.n = 0;
    for (size_t k = 1; k + 1 <= (size_t)pieces[0]; k += 2) {
        int digits = (int)pieces[k + 1];
        if (digits == PIECE_TEXT)
            put(&machine->words, text_of(machine->data, SECTION_MESSAGES, (size_t)pieces[k]));
        else
            put_number(&machine->words, pieces[k], digits == PIECE_ALL ? AS_PYTHON : (NumberStyle)digits);
    }
    return machine->words.data ? machine->words.data : "";
}
