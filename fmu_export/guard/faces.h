/* What the functions that hosts call have in common (fmi2.c, exchange.c, variables.c, fmi3.c, exchange3.c,
 * variables3.c). */
#ifndef FACES_H
#define FACES_H

#include "fmu.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

/* Which modes the functions are allowed in: FMI 2.0.4, 3.2.3 and 4.2.4. */
enum {
    ALWAYS = NEW | INITIALISING | STEPPING | FAILED | TERMINATED | BROKEN | EVENT | CONTINUOUS | HANDLING,
    READING = INITIALISING | STEPPING | FAILED | TERMINATED | BROKEN | EVENT | CONTINUOUS | HANDLING,
    WRITING = NEW | INITIALISING | STEPPING | EVENT | CONTINUOUS | HANDLING,
    WATCHING = INITIALISING | EVENT | CONTINUOUS | TERMINATED,
    RATES = STEPPING | FAILED | TERMINATED | BROKEN | HANDLING,
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

/* Functions of model exchange: for an instance for co-simulation they are refused in other words than at a wrong time. */
#define EXCHANGES(function, modes)                                                                                     \
    BEGIN(function, ALWAYS);                                                                                           \
    if (instance->type != MODEL_EXCHANGE)                                                                              \
        return refuse(instance, ERROR, name, NOT_OFFERED, NULL, 0, 0.0, 0.0);                                          \
    if (!(block->mode & (modes)))                                                                                      \
    return refuse(instance, ERROR, name, NOT_NOW, NULL, 0, 0.0, 0.0)

/* Arrays of states have a number for each. */
#define STATES(x, n, of)                                                                                               \
    if ((n) != (of))                                                                                                   \
        return refuse(instance, ERROR, name, OTHER_NUMBER, #n, 0, (Real)(n), (Real)(of));                              \
    if (n)                                                                                                             \
    NOT_NULL(x)

#define NOT_NULL(argument)                                                                                             \
    if (!(argument))                                                                                                   \
        return refuse(instance, ERROR, name, IS_NULL, #argument, 0, 0.0, 0.0)

static inline int finite(Real x)
{
    return x - x == 0.0;
}

/* ---- life.c, for functions that have checked modes and pointers; `name` is that of the function that was called */

/* What came from inside, with a message if there is something to say; an error ends the run. */
Status answered(Instance *instance, String function, Status status);

/* How an instance is asked for: what the arguments of a version of FMI are called, and what they are. */
typedef struct {
    String function, argument, form, full_form, location, token_name, token;
} Opening;

Instance *new_instance(String instance_name, int logging);
/* The instance; or NULL, when it is freed and the log has the reason, which may be known before: `wrong`. */
Instance *open_instance(Instance *instance, const Opening *how, String folder, String wrong);
void free_instance(Instance *instance);
Status set_debug_logging(Instance *instance, String name, int logging, size_t n, const String categories[]);
Status set_times(Instance *instance, String name, int has_tolerance, Real tolerance, Real start, int has_stop, Real stop);
/* A call that ends in a mode, if all is well. */
Status changed_to(Instance *instance, int mode, Status status);
Status reset(Instance *instance, String name);
Status do_step(Instance *instance, String name, Real t, Real size);
Status hand_out_state(Instance *instance, String name, State *state);
Status put_back_state(Instance *instance, String name, State state);
Status release_state(Instance *instance, String name, State *state);
Status size_of_state(Instance *instance, String name, State state, size_t *size);
Status write_state(Instance *instance, String name, State state, Byte *bytes, size_t size);
Status read_state(Instance *instance, String name, const Byte *bytes, size_t size, State *state);

/* ---- variables.c, alike */

/* The first of these that is no variable of the kind, or n. */
size_t stranger(const Block *block, const Reference *references, size_t n, unsigned kind);
/* Make values of variables of these kinds up to date. */
Status make_fresh(Instance *instance, String name, unsigned kinds);
/* The answer where there are no variables of a type. */
Status none(Instance *instance, String name, String type, const Reference *vr, size_t n);
Status get_strings(Instance *instance, String name, const Reference *references, size_t n, String *values);
Status set_strings(Instance *instance, String name, const Reference *references, size_t n, const String *value);
Status set_reals(Instance *instance, String name, String type, const Reference *references, size_t n,
                 const Real *values);
/* Whether these are outputs, and what they can be differentiated by now. */
Status check_unknowns(Instance *instance, String name, const Reference *unknown, size_t n_unknown,
                      const Reference *known, size_t n_known);
/* Derivatives of outputs along a direction. */
Status along(Instance *instance, String name, const Reference *unknown, size_t n_unknown, const Reference *known,
             size_t n_known, const Real *direction, Real *out);
/* Derivatives of outputs with respect to time. */
Status output_rates(Instance *instance, String name, const Reference *references, size_t n, Real *out);

/* ---- start_values.c, alike */

/* Derivatives of outputs along parameters and inputs in initialisation mode. */
Status along_start_values(Instance *instance, String name, const Reference *unknown, size_t n_unknown,
                          const Reference *known, size_t n_known, const Real *direction, Real *out);

/* ---- exchange.c, alike */

/* What follows an event: whether states changed, and the next event, if one is to come. */
Status update_discrete_states(Instance *instance, String name, Boolean *changed, int *next_defined, Real *next);
/* The next event of an instance for co-simulation, if one is to come. */
Status event_to_come(Instance *instance, String name, int *defined, Real *next);
Status go_to_time(Instance *instance, String name, Real time);
/* States of an integrator, which its host calls `what`. */
Status put_states(Instance *instance, String name, const char *what, const Real *x, size_t n);

/* ---- variables3.c, for fmi3.c */

/* Make room for lists of so many scalars; whether there was memory. */
int make_room(Instance *instance, size_t n);

#endif
