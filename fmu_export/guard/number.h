/* Numbers as texts, without a C library. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stddef.h>

typedef enum {
    AS_PYTHON = -1, /* the fewest digits that read back to the same number, as Python's repr: 0.1, 1e-05, 2.0, inf, nan */
    SHORT = 0,      /* the same without ".0" */
    SIX = 6         /* six digits, as %g; other numbers up to 15 are as many digits, as %.3g */
} NumberStyle;

enum { NUMBER_ROOM = 32 };

/* Write x, with a 0 at the end; how many characters stand before that.  `into` has NUMBER_ROOM. */
size_t write_number(char *into, double x, NumberStyle style);
size_t write_integer(char *into, long long x);

#endif
