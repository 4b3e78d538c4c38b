/* What the functions that hosts call have in common (fmi2.c, exchange.c, variables.c). */
#ifndef FACES_H
#define FACES_H

#include "fmu.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Which modes the functions are allowed in: FMI 2.0.4, 3.2.3 and 4.2.4. */
enum {
    ALWAYS = NEW | INITIALISING | STEPPING | FAILED | TERMINATED | BROKEN | EVENT | CONTINUOUS,
    READING = INITIALISING | STEPPING | FAILED | TERMINATED | BROKEN | EVENT | CONTINUOUS,
    WRITING = NEW | INITIALISING | STEPPING | EVENT | CONTINUOUS,
    RATES = STEPPING | FAILED | TERMINATED | BROKEN,
    STATUSES = STEPPING | FAILED | TERMINATED
};

#define BEGIN(function, modes)                                                                                         \
    Instance *instance = c;                                                                                            \
    if (!instance)                                                                                                     \
        return ERROR;                                                                                                  \
    if (inside.gone())                                                                                                 \
        return FATAL;                                                                                                  \
    Block *block = &instance->block;                                                                                   \
    static const char name[] = function;                                                                               \
    block->why = block->details = NULL;                                                                                \
    if (!(block->mode & (modes)))                                                                                      \
        return refuse(instance, ERROR, name, NOT_NOW, NULL, 0, 0.0, 0.0)

#define NOT_NULL(argument)                                                                                             \
    if (!(argument))                                                                                                   \
        return refuse(instance, ERROR, name, IS_NULL, #argument, 0, 0.0, 0.0)

static inline int finite(Real x)
{
    return x - x == 0.0;
}

/* What came from inside, with a message if there is something to say; an error ends the run. */
Status answered(Instance *instance, String function, Status status);

#endif
