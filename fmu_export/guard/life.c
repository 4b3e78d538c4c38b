/* The life, the steps and the states of an instance: what functions of all versions of FMI (fmi2.c, fmi3.c) do when they
 * have checked modes and pointers.  `name` is that of the function that the host called. */
#include "faces.h"
#include "system.h"

Status answered(Instance *instance, String function, Status status)
{
    if (status != OK && instance->block.why) {
        put(begin(instance, function), instance->block.why);
        tell_text(instance, status);
    }
    if (status == FATAL)
        instance->block.mode = DEAD;
    else if (status == ERROR)
        instance->block.mode = BROKEN;
    return status;
}

/* ---- life */

/* Free what is inside, and before that what hosts hold of it. */
static void close(Instance *instance)
{
    Block *block = &instance->block;
    int whole = block->mode != DEAD && !inside.gone();
    while (instance->states) {
        Kept *kept = instance->states;
        instance->states = kept->next;
        if (whole)
            inside.free_state(instance, kept->state);
        drop(kept);
    }
    inside.close(instance);
}

void forget(Instance *instance)
{
    instance->host.logger = NULL;
    instance->log_message = NULL;
    close(instance);
    /* should it be called all the same */
    instance->block.mode = DEAD;
}

void free_instance(Instance *instance)
{
    if (!instance)
        return;
    close(instance);
    drop(instance->name);
    drop(instance->text.data);
    drop(instance->told);
    drop(instance->scratch);
    drop(instance);
}

Instance *new_instance(String instance_name, int logging)
{
    Instance *instance = grab(sizeof *instance);
    if (!instance)
        return NULL;
    instance->logging = logging;
    instance->type = CO_SIMULATION;
    instance->name = copied(instance_name && is_text(instance_name) ? instance_name : "fmu");
    return instance;
}

/* NULL, or what is wrong; "" if the log has it. */
static String opened(Instance *instance, const Opening *how, String folder)
{
    Block *block = &instance->block;
    Text *text = &instance->text;
    if (inside.needs && (!folder || !is_text(folder))) {
        put(begin(instance, how->function), folder ? "the path of the resources is not UTF-8." : how->argument);
        put(text, folder ? "" : " is NULL, expected the ");
        put(text, folder ? "" : how->form);
        put(text, folder ? "" : " of the resources.");
        return text->data ? text->data : "";
    }
    if (inside.needs && (is_elsewhere(how->location) || !inside.has_needs(folder))) {
        put(begin(instance, how->function), how->argument);
        put(text, " is '");
        put(text, how->location);
        put(text, "', expected the ");
        put(text, how->full_form);
        put(text, " of the unpacked folder 'resources' of this FMU, with ");
        put(text, inside.needs);
        put(text, ".");
        return text->data ? text->data : "";
    }
    block->magic = MAGIC, block->size = sizeof *block;
    block->mode = NEW;
    block->start = block->stop = block->tolerance = 0.0 / 0.0;
    String wrong = inside.open(instance, folder);
    if (wrong && *wrong) {
        put(begin(instance, how->function), wrong);
        return text->data ? text->data : "";
    }
    if (wrong || (block->guid && same(block->guid, how->token)))
        return wrong;
    put(begin(instance, how->function), how->token_name);
    put(text, " is '");
    put(text, how->token);
    put(text, "', but this FMU is ");
    put(text, block->guid ? block->guid : "without one");
    put(text, ".");
    return text->data ? text->data : "";
}

Instance *open_instance(Instance *instance, const Opening *how, String folder, String wrong)
{
    if (!wrong)
        wrong = instance->name ? opened(instance, how, folder) : "";
    if (!wrong)
        return instance;
    if (*wrong)
        say(instance, ERROR, NULL, wrong);
    free_instance(instance);
    return NULL;
}

Status set_debug_logging(Instance *instance, String name, int logging, size_t n, const String categories[])
{
    Status status = OK;
    if (n)
        NOT_NULL(categories);
    unsigned chosen = 0;
    for (size_t k = 0; k < n; k++) {
        NOT_NULL(categories[k]);
        unsigned bit = bit_of(categories[k]);
        /* the first is that of all messages */
        chosen |= bit == 1u ? ~0u : bit;
        if (!bit)
            status = refuse(instance, WARNING, name, NO_CATEGORY, categories[k], 0, 0.0, 0.0);
    }
    instance->logging = logging;
    instance->categories = chosen;
    return status;
}

Status set_times(Instance *instance, String name, int has_tolerance, Real tolerance, Real start, int has_stop, Real stop)
{
    Block *block = &instance->block;
    if (!finite(start) || (has_stop && !(stop >= start)))
        return refuse(instance, ERROR, name, TIMES, NULL, 0, start, has_stop ? stop : 0.0 / 0.0);
    block->start = start;
    block->stop = has_stop ? stop : 0.0 / 0.0;
    block->tolerance = has_tolerance ? tolerance : 0.0 / 0.0;
    instance->times_by = name;
    return OK;
}

Status changed_to(Instance *instance, int mode, Status status)
{
    if (status < DISCARD)
        instance->block.mode = mode;
    return status;
}

Status reset(Instance *instance, String name)
{
    Block *block = &instance->block;
    /* arrays and texts are those of something that is going to be replaced */
    block->n = 0, block->values = NULL, block->kinds = NULL, block->names = NULL, block->message = NULL;
    block->start = block->stop = block->tolerance = 0.0 / 0.0;
    block->fresh = block->changed = 0;
    block->mode = NEW;
    drop(instance->told);
    instance->told = NULL;
    Status status = answered(instance, name, inside.reset(instance));
    if (status < ERROR)
        return status;
    block->mode = DEAD;
    return FATAL;
}

/* ---- steps */

/* What masters may differ by in what they call the time: its round-off, and a small share of the step. */
static Real slack(Real time, Real step)
{
    return 16.0 * 2.220446049250313e-16 * (time < 0.0 ? -time : time) + 1e-6 * step;
}

static Status discarded(Instance *instance, String name, Real t, Real size)
{
    Text *text = begin(instance, name);
    put(text, "the step from ");
    put_number(text, t, SIX);
    put(text, " s, ");
    put_number(text, size, SIX);
    put(text, " s long, is discarded");
    put(text, instance->block.why ? ": " : ".");
    put(text, instance->block.why ? instance->block.why : "");
    tell_text(instance, DISCARD);
    instance->block.mode = FAILED;
    return DISCARD;
}

Status do_step(Instance *instance, String name, Real t, Real size)
{
    Block *block = &instance->block;
    if (!finite(t) || !finite(size) || !(size > 0.0))
        return refuse(instance, ERROR, name, STEP_SIZE, NULL, 0, t, size);
    Real away = t - block->time, allowed = slack(block->time, size);
    if (away > allowed || -away > allowed)
        return refuse(instance, ERROR, name, STEP_START, NULL, 0, t, block->time);
    if (t + size == t)
        return refuse(instance, ERROR, name, STEP_NOTHING, NULL, 0, t, size);
    /* a sum of a million steps may end a thousandth of one beside it */
    if (block->stop == block->stop && t + size > block->stop + slack(block->stop, 1e3 * size)) {
        /* times may also have come with a state */
        String by = instance->times_by ? instance->times_by : "the saved state";
        return refuse(instance, ERROR, name, STEP_STOP, by, 0, t + size, block->stop);
    }
    instance->early = 0;
    Status status = inside.do_step(instance, t, size);
    return status == DISCARD ? discarded(instance, name, t, size) : answered(instance, name, status);
}

Real told_of_step(Instance *instance, Real time, Real end)
{
    Block *block = &instance->block;
    Real kept = block->time, until = end;
    _Bool early = 0;
    block->time = time, block->fresh = 0, block->mode = BETWEEN;
    instance->intermediate(instance->host.environment, time, 0, 1, 1, instance->early_allowed != 0, &early, &until);
    block->time = kept, block->fresh = 0;
    if (block->mode == BETWEEN)
        block->mode = STEPPING;
    if (!early || !instance->early_allowed || !(until < end))
        return end;
    instance->early = 1;
    return until > time ? until : time;
}

/* ---- state: what hosts hold is ours, so that what is none is noticed */

static Kept *kept_by(const Instance *instance, State state)
{
    Kept *kept = instance->states;
    while (kept && kept != state)
        kept = kept->next;
    return kept;
}

#define NEEDS_STATE(kept, state)                                                                                       \
    Kept *kept = kept_by(instance, state);                                                                             \
    if (!kept)                                                                                                         \
    return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0)

/* Put a state from inside into the one that the host gave, or into a new one. */
static Status keep(Instance *instance, State state, Kept *kept, State *into)
{
    if (kept) {
        inside.free_state(instance, kept->state);
    } else {
        kept = grab(sizeof *kept);
        if (!kept) {
            inside.free_state(instance, state);
            return ERROR;
        }
        kept->next = instance->states;
        instance->states = kept;
    }
    kept->state = state;
    *into = kept;
    return OK;
}

Status hand_out_state(Instance *instance, String name, State *state)
{
    Kept *kept = kept_by(instance, *state);
    if (*state && !kept)
        return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0);
    State found = NULL;
    Status status = answered(instance, name, inside.get_state(instance, &found));
    return status >= ERROR ? status : keep(instance, found, kept, state);
}

Status put_back_state(Instance *instance, String name, State state)
{
    NEEDS_STATE(kept, state);
    return answered(instance, name, inside.set_state(instance, kept->state));
}

Status release_state(Instance *instance, String name, State *state)
{
    if (!state || !*state)
        return OK;
    NEEDS_STATE(kept, *state);
    Kept **link = &instance->states;
    while (*link != kept)
        link = &(*link)->next;
    *link = kept->next;
    *state = NULL;
    Status status = answered(instance, name, inside.free_state(instance, kept->state));
    drop(kept);
    return status;
}

Status size_of_state(Instance *instance, String name, State state, size_t *size)
{
    NEEDS_STATE(kept, state);
    return answered(instance, name, inside.state_size(instance, kept->state, size));
}

Status write_state(Instance *instance, String name, State state, Byte *bytes, size_t size)
{
    NEEDS_STATE(kept, state);
    size_t needed = 0;
    Status status = answered(instance, name, inside.state_size(instance, kept->state, &needed));
    if (status >= ERROR)
        return status;
    if (size < needed)
        return refuse(instance, ERROR, name, TOO_SMALL, NULL, 0, (Real)size, (Real)needed);
    return answered(instance, name, inside.state_to_bytes(instance, kept->state, bytes, needed));
}

Status read_state(Instance *instance, String name, const Byte *bytes, size_t size, State *state)
{
    Kept *kept = kept_by(instance, *state);
    if (*state && !kept)
        return refuse(instance, ERROR, name, NO_STATE, NULL, 0, 0.0, 0.0);
    State found = NULL;
    Status status = answered(instance, name, inside.state_from_bytes(instance, bytes, size, &found));
    return status >= ERROR ? status : keep(instance, found, kept, state);
}
