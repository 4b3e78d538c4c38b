/* Model exchange: what both versions of FMI share, and the functions of FMI 2.0 that only hosts with an integrator call.
 *
 * Modes are those of FMI 2.0.4, 3.2.3, and FMI 3.0.2, 3.2: initialisation ends in EVENT mode, and EnterContinuousTimeMode
 * and EnterEventMode lead to and fro.  Event indicators are those of triggers and rigid stops (liegeo/kernels/events.py).
 * Forces of all elements are continuous functions of the states (limits of motors and friction have kinks, and no jumps).
 */
#include "faces.h"

typedef struct {
    Boolean needed, terminate, nominals_changed, states_changed, next_defined;
    Real next;
} EventInfo;

/* ---- for all versions; `name` is that of the function that was called */

Status update_discrete_states(Instance *instance, String name, Boolean *changed, int *next_defined, Real *next)
{
    instance->block.fresh = 0;
    Status status = answered(instance, name, inside.new_discrete_states(instance, changed, next));
    /* no event is to come */
    *next_defined = status < ERROR && finite(*next);
    if (!*next_defined)
        *next = 0.0;
    return status;
}

Status event_to_come(Instance *instance, String name, int *defined, Real *next)
{
    Status status = answered(instance, name, inside.next_event(instance, instance->block.time, next));
    *defined = status < ERROR && finite(*next);
    if (!*defined)
        *next = 0.0;
    return status;
}

Status go_to_time(Instance *instance, String name, Real time)
{
    Block *block = &instance->block;
    if (!finite(time))
        return refuse(instance, ERROR, name, TIMES, NULL, 0, time, block->stop);
    block->time = time, block->fresh = 0;
    return answered(instance, name, inside.set_time(instance, time));
}

Status put_states(Instance *instance, String name, const char *what, const Real *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!finite(x[k]))
            return refuse(instance, DISCARD, name, NO_NUMBER, what, 0, (Real)k, x[k]);
    instance->block.fresh = 0;
    return answered(instance, name, inside.set_states(instance, x));
}

/* ---- FMI 2.0 */

EXPORT Status fmi2EnterEventMode(Component c)
{
    EXCHANGES("fmi2EnterEventMode", CONTINUOUS | EVENT);
    block->mode = EVENT;
    return OK;
}

EXPORT Status fmi2NewDiscreteStates(Component c, EventInfo *eventInfo)
{
    EXCHANGES("fmi2NewDiscreteStates", EVENT);
    NOT_NULL(eventInfo);
    *eventInfo = (EventInfo) {0};
    return update_discrete_states(instance, name, &eventInfo->states_changed, &eventInfo->next_defined,
                                  &eventInfo->next);
}

EXPORT Status fmi2EnterContinuousTimeMode(Component c)
{
    EXCHANGES("fmi2EnterContinuousTimeMode", EVENT);
    block->mode = CONTINUOUS;
    return OK;
}

EXPORT Status fmi2CompletedIntegratorStep(Component c, Boolean noSetFMUStatePriorToCurrentPoint, Boolean *enterEventMode,
                                          Boolean *terminateSimulation)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    EXCHANGES("fmi2CompletedIntegratorStep", CONTINUOUS);
    NOT_NULL(enterEventMode);
    NOT_NULL(terminateSimulation);
    *enterEventMode = *terminateSimulation = 0;
    return answered(instance, name, inside.completed_step(instance, enterEventMode));
}

EXPORT Status fmi2SetTime(Component c, Real time)
{
    EXCHANGES("fmi2SetTime", EVENT | CONTINUOUS);
    return go_to_time(instance, name, time);
}

EXPORT Status fmi2SetContinuousStates(Component c, const Real x[], size_t nx)
{
    EXCHANGES("fmi2SetContinuousStates", CONTINUOUS);
    STATES(x, nx, instance->n_states);
    return put_states(instance, name, "x", x, nx);
}

EXPORT Status fmi2GetDerivatives(Component c, Real derivatives[], size_t nx)
{
    EXCHANGES("fmi2GetDerivatives", WATCHING);
    STATES(derivatives, nx, instance->n_states);
    return answered(instance, name, inside.get_rates(instance, derivatives));
}

EXPORT Status fmi2GetEventIndicators(Component c, Real eventIndicators[], size_t ni)
{
    EXCHANGES("fmi2GetEventIndicators", WATCHING);
    STATES(eventIndicators, ni, instance->n_indicators);
    return instance->n_indicators ? answered(instance, name, inside.get_indicators(instance, eventIndicators)) : OK;
}

EXPORT Status fmi2GetContinuousStates(Component c, Real x[], size_t nx)
{
    EXCHANGES("fmi2GetContinuousStates", WATCHING);
    STATES(x, nx, instance->n_states);
    return answered(instance, name, inside.get_states(instance, x));
}

EXPORT Status fmi2GetNominalsOfContinuousStates(Component c, Real x_nominal[], size_t nx)
{
    EXCHANGES("fmi2GetNominalsOfContinuousStates", NEW | WATCHING);
    STATES(x_nominal, nx, instance->n_states);
    return answered(instance, name, inside.get_nominals(instance, x_nominal));
}
