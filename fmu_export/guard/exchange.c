/* FMI 2.0 for model exchange: the functions that only hosts with an integrator call.
 *
 * Modes are those of FMI 2.0.4, 3.2.3: initialisation ends in EVENT mode, and fmi2EnterContinuousTimeMode and
 * fmi2EnterEventMode lead to and fro.  There are no event indicators: forces of all elements are continuous functions of
 * the states (limits of motors and friction have kinks, and no jumps), so that nothing switches by state.
 */
#include "faces.h"

typedef struct {
    Boolean needed, terminate, nominals_changed, states_changed, next_defined;
    Real next;
} EventInfo;

enum { WATCHING = INITIALISING | EVENT | CONTINUOUS | TERMINATED };

/* What does not belong to an instance for co-simulation is refused in other words than what comes at a wrong time. */
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
    block->fresh = 0;
    Status status =
        answered(instance, name, inside.new_discrete_states(instance, &eventInfo->states_changed, &eventInfo->next));
    /* no event is to come */
    eventInfo->next_defined = status < ERROR && finite(eventInfo->next);
    if (!eventInfo->next_defined)
        eventInfo->next = 0.0;
    return status;
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
    if (!finite(time))
        return refuse(instance, ERROR, name, TIMES, NULL, 0, time, block->stop);
    block->time = time, block->fresh = 0;
    return answered(instance, name, inside.set_time(instance, time));
}

EXPORT Status fmi2SetContinuousStates(Component c, const Real x[], size_t nx)
{
    EXCHANGES("fmi2SetContinuousStates", CONTINUOUS);
    STATES(x, nx, instance->n_states);
    for (size_t k = 0; k < nx; k++)
        if (!finite(x[k]))
            return refuse(instance, DISCARD, name, NO_NUMBER, "x", 0, (Real)k, x[k]);
    block->fresh = 0;
    return answered(instance, name, inside.set_states(instance, x));
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
    STATES(eventIndicators, ni, (size_t)0);
    return OK;
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
