/* The parts of an FMU's library: what FMI 2.0 wants (fmi2.c, exchange.c, variables.c), what FMI 3.0 wants (fmi3.c,
 * exchange3.c, variables3.c; of native FMUs), what both share (life.c, start_values.c), the words of messages (words.c),
 * and what stands behind, which moves the model: Python (python.c) or a native machine (native.c).  A library is linked
 * with one of those, which defines `inside`.  In what follows, fmi2.c means all of the former.
 */
#ifndef FMU_H
#define FMU_H

#include <stddef.h>
#include <stdint.h>

#include "number.h"

/* ---- the types of the standard (fmi2TypesPlatform.h, fmi2FunctionTypes.h) */

typedef void *Component;
typedef void *State;
typedef unsigned int Reference;
typedef double Real;
typedef int Integer;
typedef int Boolean;
typedef char Byte;
typedef const char *String;
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING } Status;
typedef enum { MODEL_EXCHANGE, CO_SIMULATION } Type;
typedef enum { DO_STEP_STATUS, PENDING_STATUS, LAST_SUCCESSFUL_TIME, TERMINATED_STATUS } StatusKind;
typedef void Logger(void *environment, String name, Status status, String category, String message, ...);
typedef struct {
    Logger *logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(void *, Status);
    void *environment;
} Callbacks;
/* FMI 3.0 */
typedef void LogMessage(void *environment, Status status, String category, String message);
typedef void IntermediateUpdate(void *environment, Real time, _Bool set_requested, _Bool get_allowed, _Bool step_finished,
                                _Bool can_return_early, _Bool *early_return, Real *early_return_time);

/* ---- what fmi2.c shares with what is inside; fmu_export/block.py has the same, for Python */

enum { NEW = 1, INITIALISING = 2, STEPPING = 4, FAILED = 8, TERMINATED = 16, BROKEN = 32, DEAD = 64,
       EVENT = 128, CONTINUOUS = 256, /* of instances for model exchange, in place of STEPPING */
       BETWEEN = 512, /* while a host hears of an internal step */
       HANDLING = 1024 /* an event in co-simulation, by FMI 3.0 */ };
/* Of variables.  What is DIRECT or COMPUTED is up to date only as far as `fresh` says; an input that is a MOTION has its
 * rate and acceleration as inputs of their own. */
enum { IS_REAL = 1, IS_STRING = 2, IS_INPUT = 4, IS_PARAMETER = 8, IS_TUNABLE = 16, IS_DIRECT = 32, IS_COMPUTED = 64,
       IS_OUTPUT = 128, IS_MESSAGE = 256, IS_MOTION = 512, IS_STATE = 1024, IS_RATE = 2048,
       IS_INDICATOR = 4096 };
enum { REFRESH = 1, COMPLETE = 2, DIRECTIONAL = 3, OUTPUT_RATES = 4, INPUT_RATES = 5, STATES = 6 };

#define MAGIC 0x6c69656765690002u

/* Texts and arrays belong to who writes them, and stay until that one writes others or is closed. */
typedef struct {
    uint64_t magic, size;
    int32_t status; /* only for python.c: of the call that is being answered */
    int32_t mode;
    int32_t fresh;   /* how far `values` are up to date: not, outputs that are read off (1), all outputs (2), and states
                        and their rates (3) */
    int32_t asked;   /* the most of that that was asked for since the last step */
    int32_t changed; /* whether inputs were written since somebody inside looked */
    Real time, start, stop, tolerance; /* `time` is that of the last success; the last two are NaN if not given */
    String guid;         /* of the FMU */
    String message;      /* the last one, or NULL: the value of the variable that is IS_MESSAGE */
    String why, details; /* by whoever answers with another status than OK: what is wrong; more of it, for the log */
    uint64_t n;          /* variables; value references are 0 … n − 1 */
    Real *values;
    const uint16_t *kinds;
    const String *names;
    const Reference *references, *known; /* from here on: arguments of what is asked */
    uint64_t n_references, n_known;
    const Integer *orders;
    const Real *given;
    Real *out;
} Block;

/* ---- an instance */

/* A text that grows.  What there is no memory for is left out. */
typedef struct {
    char *data;
    size_t n, room;
} Text;

/* A state that a host holds. */
typedef struct Kept {
    State state;
    struct Kept *next;
} Kept;

typedef struct {
    Block block;
    void *machine; /* what `inside` made, for itself */
    Type type;
    size_t n_states, n_indicators; /* continuous states, event indicators; `inside.open` writes them */
    /* by variable, from what is inside: how many of the scalars from here on are one variable of FMI 3.0; 0 for those
     * within such a run; NULL: there is no FMI 3.0 */
    const uint16_t *runs;
    Callbacks host;
    LogMessage *log_message; /* FMI 3.0's in place of host.logger, with host.environment */
    char *name;
    Boolean logging;
    unsigned categories; /* bits of those that the host wants; 0: all */
    Text text;           /* the last message that was made in words.c */
    Kept *states;
    String times_by;     /* the function that said when the run ends */
    void *scratch;       /* of variables3.c */
    size_t room;         /* scalars that it is for */
    /* FMI 3.0: the host's function that hears of internal steps, whether it may end a step early, whether it did */
    IntermediateUpdate *intermediate;
    Boolean early_allowed, early;
    Boolean event_mode; /* FMI 3.0: the host handles events in co-simulation */
    char *told; /* for each variable, whether it was said that derivatives of it are not used; NULL: of none */
} Instance;

/* ---- what stands behind an instance
 *
 * fmi2.c has checked what it can: calls come in an order that the standard allows, references are those of variables of
 * the right type that may be read or written now, numbers are finite, texts are UTF-8, pointers are not NULL.
 *
 * Who answers with another status than OK writes block.why, and fmi2.c makes the message of it: "fmi2…: why".  After
 * ERROR the instance is BROKEN: it is read, reset, or put back to a state.  After FATAL it is DEAD: it is only closed.
 *
 * `values`, `changed` and `fresh` for what hosts write are written by fmi2.c: inputs without a call, and then `changed`
 * is 1 and `fresh` 0.
 */
typedef struct {
    /* What the folder `resources` has to have, for people; and whether it has.  NULL: nothing, and hosts may leave the
     * folder out. */
    String needs;
    int (*has_needs)(String folder);
    /* Make instance.machine; write guid, n, values, kinds, names and, where there is FMI 3.0, runs.  NULL, or what is
     * wrong, "" if the log has it; then `close` follows. */
    String (*open)(Instance *, String folder);
    /* Free it, if there is one.  Of what is DEAD only what is certainly whole. */
    void (*close)(Instance *);
    /* Whether the process is so near its end that nothing can be called any more; asked first in every call. */
    int (*gone)(void);
    /* Into initialisation mode, out of it (writes `time`), the end of a run, and back to where `open` ended: then n,
     * values, kinds and names are written again. */
    Status (*enter)(Instance *), (*leave)(Instance *), (*terminate)(Instance *), (*reset)(Instance *);
    /* Take parameters, all or none; inputs among them are to be passed over.  Where it is OK, fmi2.c writes `values`. */
    Status (*set_real)(Instance *, const Reference *, size_t n, const Real *);
    Status (*set_string)(Instance *, const Reference *, size_t n, const String *);
    /* Texts that stay until the next call.  fmi2.c writes over those of IS_MESSAGE. */
    Status (*get_string)(Instance *, const Reference *, size_t n, String *);
    /* REFRESH, COMPLETE, STATES: `values` of outputs, of those that are read off, of all, and of states and rates too;
     * writes `fresh`.
     * DIRECTIONAL: `out` of `references`, along `given` of `known`.  OUTPUT_RATES: `out` of `references`.
     * INPUT_RATES: take derivatives `given` of `orders` of `references`, but orders above 2 and IS_MOTION. */
    Status (*ask)(Instance *, int what);
    /* Writes `time`, `fresh`, `asked` and `changed`.  DISCARD where it cannot get to the end, and stands at `time`.
     * Where internal steps end it calls `told_of_step`, if there is instance.intermediate. */
    Status (*do_step)(Instance *, Real t, Real size);
    /* States belong to whoever made them, until they are freed; where an answer is ERROR, there is none. */
    Status (*get_state)(Instance *, State *);
    Status (*set_state)(Instance *, State); /* writes mode, times and what else is in the block */
    Status (*free_state)(Instance *, State);
    Status (*state_size)(Instance *, State, size_t *);
    Status (*state_to_bytes)(Instance *, State, Byte *, size_t n); /* n is what state_size said */
    Status (*state_from_bytes)(Instance *, const Byte *, size_t n, State *);
    /* Model exchange; all NULL where it is not offered.  Time, states and rates at the time, the states and the inputs
     * that are set; DISCARD of rates where there are none.  Whether a step that an integrator completed asks for an
     * event; and what follows an event: whether states changed, and when the next one is, infinity if never. */
    Status (*set_time)(Instance *, Real t);
    Status (*set_states)(Instance *, const Real *);
    Status (*get_states)(Instance *, Real *), (*get_rates)(Instance *, Real *), (*get_nominals)(Instance *, Real *);
    Status (*get_indicators)(Instance *, Real *); /* called only where there are any */
    Status (*completed_step)(Instance *, Boolean *event);
    Status (*new_discrete_states)(Instance *, Boolean *changed, Real *next);
    /* When the first event is behind t, infinity if there is none; NULL: there are no events in co-simulation. */
    Status (*next_event)(Instance *, Real t, Real *next);
} Inside;

extern const Inside inside;

/* ---- life.c, for what is inside */

/* End an instance that the host has not freed, where what is inside ends before the host: it is DEAD afterwards. */
void forget(Instance *instance);

/* An internal step ended at a time of the step that goes to `end`: tell the host, and return where the step is to end,
 * from this time to `end`.  ERROR ends the run meanwhile: then the mode is not STEPPING. */
Real told_of_step(Instance *instance, Real time, Real end);

/* ---- words.c */

enum { NOT_NOW, IS_NULL, NO_SUCH, CANNOT_BE_SET, IS_FIXED, NOT_FINITE, TIMES, STEP_SIZE, STEP_START, STEP_NOTHING,
       STEP_STOP, NO_STATUS, NO_STATE, TOO_SMALL, NO_ORDER, NOT_KNOWN, NOT_UNKNOWN, NO_CATEGORY, NOT_OFFERED,
       NOT_TEXT, NOT_PROVIDED, WRONG_SIZE, OTHER_NUMBER, NO_NUMBER, IN_EVENT_MODE };

void put(Text *text, String more);
void put_number(Text *text, Real x, NumberStyle style);
void put_integer(Text *text, long long x);
/* The name of a variable, or its reference if there is none. */
void put_name(Text *text, const Block *block, uint64_t reference);
/* Begin the instance's text: "function: ". */
Text *begin(Instance *instance, String function);

/* The bit of a category of the log; 0 if there is none such. */
unsigned bit_of(String category);
/* To the host's log: what is worth a warning always, the rest if logging is on; of all the categories that were chosen.
 * The category may be NULL: that of the status. */
void say(Instance *instance, Status status, String category, String text);
/* A message: the text is what the FMU said last (block.message), and the log has it with details, which may be NULL. */
void tell(Instance *instance, Status status, String text, String details);
/* Tell the instance's text, with details of the block. */
void tell_text(Instance *instance, Status status);
/* Answer a call with a status and tell why; an error ends the run.  The reason decides what the rest is. */
Status refuse(Instance *instance, Status status, String function, int reason, String what, uint64_t reference, Real x,
              Real y);

#endif
