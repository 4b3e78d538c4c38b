/* Derivatives in initialisation mode, where parameters and start values are known: by differences, because what follows
 * from them (a model made anew, loops that are closed) can only be computed again.
 *
 * With f(e) the outputs where the knowns are moved by e along the direction,
 *
 *     f'(0) = (8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h + O(h⁴),                                               (1)
 *
 * and where f is not defined on both sides of 0, as at a bound of a parameter, with h of either sign,
 *
 *     f'(0) = (4 f(h) − f(2h) − 3 f(0)) / 2h + O(h²).                                                            (2)
 */
#include "faces.h"
#include "system.h"

/* Changes, as shares of what they are small beside; and what is zero but for round-off. */
static const Real CHANGE = 1e-4, ZERO = 1e-14;

static Real magnitude(Real x)
{
    return x < 0.0 ? -x : x;
}

/* What is differentiated by what. */
typedef struct {
    const Reference *unknown, *known;
    size_t n_unknown, n_known;
    Real *base, *direction, *values; /* by known: its value at 0, what it moves by per e, and its value now */
} Along;

/* f(e); whether it is defined. */
static int moved(Instance *instance, const Along *along, Real e, Real *out)
{
    Block *block = &instance->block;
    Status status = OK;
    int parameters = 0;
    for (size_t k = 0; k < along->n_known; k++) {
        along->values[k] = along->base[k] + e * along->direction[k];
        parameters |= block->kinds[along->known[k]] & IS_PARAMETER;
    }
    if (parameters)
        status = inside.set_real(instance, along->known, along->n_known, along->values);
    for (size_t k = 0; k < along->n_known; k++)
        block->values[along->known[k]] = along->values[k];
    block->changed = 1, block->fresh = 0;
    if (status < DISCARD)
        status = inside.ask(instance, instance->type == MODEL_EXCHANGE ? STATES : COMPLETE);
    for (size_t k = 0; k < along->n_unknown; k++)
        out[k] = block->values[along->unknown[k]];
    return status < DISCARD;
}

/* (1) or (2), with room for five f; whether one of them is defined. */
static int differences(Instance *instance, const Along *along, Real h, Real *f, Real *out)
{
    size_t n = along->n_unknown;
    static const Real at[] = {1.0, -1.0, 2.0, -2.0, 0.0};
    int defined[5];
    for (size_t k = 0; k < 4; k++)
        defined[k] = moved(instance, along, at[k] * h, f + k * n);
    if (defined[0] && defined[1] && defined[2] && defined[3]) {
        for (size_t k = 0; k < n; k++)
            out[k] = (8.0 * (f[k] - f[n + k]) - (f[2 * n + k] - f[3 * n + k])) / (12.0 * h);
        return 1;
    }
    size_t side = defined[0] && defined[2] ? 0 : 1;
    if (!(defined[side] && defined[side + 2]) || !moved(instance, along, 0.0, f + 4 * n))
        return 0;
    for (size_t k = 0; k < n; k++)
        out[k] = (4.0 * f[side * n + k] - f[(side + 2) * n + k] - 3.0 * f[4 * n + k]) / (2.0 * at[side] * h);
    return 1;
}

/* The change that is small for all knowns; 0 if none moves. */
static Real change(const Instance *instance, const Along *along)
{
    Real h = 0.0;
    for (size_t k = 0; k < along->n_known; k++) {
        unsigned kinds = instance->block.kinds[along->known[k]];
        Real scale = magnitude(along->base[k]), slope = magnitude(along->direction[k]);
        /* parameters of the model file may be 1e-9 m⁴, other things are about 1 */
        if (!(kinds & IS_PARAMETER) || (kinds & IS_DIRECT) || scale < ZERO)
            scale = scale > 1.0 ? scale : 1.0;
        if (slope > 0.0 && (h == 0.0 || CHANGE * scale / slope < h))
            h = CHANGE * scale / slope;
    }
    return h;
}

Status along_start_values(Instance *instance, String name, const Reference *unknown, size_t n_unknown,
                          const Reference *known, size_t n_known, const Real *direction, Real *out)
{
    Block *block = &instance->block;
    /* so that start values which follow from others are shown, and what cannot be made is told */
    Status status = inside.ask(instance, COMPLETE);
    if (status >= DISCARD)
        return answered(instance, name, status);
    Real *room = grab((3 * n_known + 5 * n_unknown) * sizeof *room);
    if (!room) {
        block->why = "there is no memory.";
        return answered(instance, name, ERROR);
    }
    Along along = {unknown, known, n_unknown, n_known, room, room + n_known, room + 2 * n_known};
    for (size_t k = 0; k < n_known; k++) {
        along.base[k] = block->values[known[k]];
        /* one may be named more than once */
        for (size_t j = 0; j < n_known; j++)
            along.direction[k] += known[j] == known[k] ? direction[j] : 0.0;
    }
    for (size_t k = 0; k < n_unknown; k++)
        out[k] = 0.0;
    Real h = change(instance, &along);
    if (h > 0.0) {
        State before = NULL;
        status = inside.get_state(instance, &before);
        if (status < ERROR) {
            int defined = differences(instance, &along, h, room + 3 * n_known, out);
            /* told before the state is put back, because the reason may be a text that changes then */
            if (!defined)
                answered(instance, name, ERROR);
            status = inside.set_state(instance, before);
            inside.free_state(instance, before);
            if (!defined)
                block->mode = BROKEN, block->why = NULL, status = ERROR;
        }
    }
    drop(room);
    return answered(instance, name, status);
}
