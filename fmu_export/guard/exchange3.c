/* FMI 3.0 for model exchange: the functions that only hosts with an integrator call; rules and reasons as in exchange.c. */
#include "faces.h"

#include <stdbool.h>

EXPORT Status fmi3UpdateDiscreteStates(Component c, bool *discreteStatesNeedUpdate, bool *terminateSimulation,
                                       bool *nominalsOfContinuousStatesChanged, bool *valuesOfContinuousStatesChanged,
                                       bool *nextEventTimeDefined, Real *nextEventTime)
{
    BEGIN("fmi3UpdateDiscreteStates", ALWAYS);
    if (instance->type == CO_SIMULATION && !instance->event_mode)
        return refuse(instance, ERROR, name, NOT_OFFERED, NULL, 0, 0.0, 0.0);
    if (!(block->mode & (EVENT | HANDLING)))
        return refuse(instance, ERROR, name, NOT_NOW, NULL, 0, 0.0, 0.0);
    NOT_NULL(discreteStatesNeedUpdate);
    NOT_NULL(terminateSimulation);
    NOT_NULL(nominalsOfContinuousStatesChanged);
    NOT_NULL(valuesOfContinuousStatesChanged);
    NOT_NULL(nextEventTimeDefined);
    NOT_NULL(nextEventTime);
    Boolean changed = 0;
    int defined = 0;
    Status status = block->mode == EVENT ? update_discrete_states(instance, name, &changed, &defined, nextEventTime)
                                         : event_to_come(instance, name, &defined, nextEventTime);
    *discreteStatesNeedUpdate = *terminateSimulation = *nominalsOfContinuousStatesChanged = false;
    *valuesOfContinuousStatesChanged = changed, *nextEventTimeDefined = defined;
    return status;
}

EXPORT Status fmi3EnterContinuousTimeMode(Component c)
{
    EXCHANGES("fmi3EnterContinuousTimeMode", EVENT);
    block->mode = CONTINUOUS;
    return OK;
}

EXPORT Status fmi3CompletedIntegratorStep(Component c, bool noSetFMUStatePriorToCurrentPoint, bool *enterEventMode,
                                          bool *terminateSimulation)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    EXCHANGES("fmi3CompletedIntegratorStep", CONTINUOUS);
    NOT_NULL(enterEventMode);
    NOT_NULL(terminateSimulation);
    Boolean event = 0;
    Status status = answered(instance, name, inside.completed_step(instance, &event));
    *enterEventMode = event, *terminateSimulation = false;
    return status;
}

EXPORT Status fmi3SetTime(Component c, Real time)
{
    EXCHANGES("fmi3SetTime", EVENT | CONTINUOUS);
    return go_to_time(instance, name, time);
}

EXPORT Status fmi3SetContinuousStates(Component c, const Real continuousStates[], size_t nContinuousStates)
{
    EXCHANGES("fmi3SetContinuousStates", CONTINUOUS);
    STATES(continuousStates, nContinuousStates, instance->n_states);
    return put_states(instance, name, "continuousStates", continuousStates, nContinuousStates);
}

EXPORT Status fmi3GetContinuousStateDerivatives(Component c, Real derivatives[], size_t nContinuousStates)
{
    EXCHANGES("fmi3GetContinuousStateDerivatives", WATCHING);
    STATES(derivatives, nContinuousStates, instance->n_states);
    return answered(instance, name, inside.get_rates(instance, derivatives));
}

EXPORT Status fmi3GetEventIndicators(Component c, Real eventIndicators[], size_t nEventIndicators)
{
    EXCHANGES("fmi3GetEventIndicators", WATCHING);
    STATES(eventIndicators, nEventIndicators, instance->n_indicators);
    return instance->n_indicators ? answered(instance, name, inside.get_indicators(instance, eventIndicators)) : OK;
}

EXPORT Status fmi3GetContinuousStates(Component c, Real continuousStates[], size_t nContinuousStates)
{
    EXCHANGES("fmi3GetContinuousStates", WATCHING);
    STATES(continuousStates, nContinuousStates, instance->n_states);
    return answered(instance, name, inside.get_states(instance, continuousStates));
}

EXPORT Status fmi3GetNominalsOfContinuousStates(Component c, Real nominals[], size_t nContinuousStates)
{
    EXCHANGES("fmi3GetNominalsOfContinuousStates", NEW | WATCHING);
    STATES(nominals, nContinuousStates, instance->n_states);
    return answered(instance, name, inside.get_nominals(instance, nominals));
}

EXPORT Status fmi3GetNumberOfEventIndicators(Component c, size_t *nEventIndicators)
{
    EXCHANGES("fmi3GetNumberOfEventIndicators", NEW | WATCHING);
    NOT_NULL(nEventIndicators);
    *nEventIndicators = instance->n_indicators;
    return OK;
}

EXPORT Status fmi3GetNumberOfContinuousStates(Component c, size_t *nContinuousStates)
{
    EXCHANGES("fmi3GetNumberOfContinuousStates", NEW | WATCHING);
    NOT_NULL(nContinuousStates);
    *nContinuousStates = instance->n_states;
    return OK;
}
