/* A host that is no Python: loads an FMU twice, drives it for a second or so many steps of 10 ms, and says where it got.
 *
 *     host FOLDER IDENTIFIER GUID [forget|free [STEPS]]
 *
 * FOLDER is an unpacked FMU whose first variable is an input and whose second is an output.  With `forget`, it frees
 * nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fmi2Functions.h"

static void logger(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                   fmi2String message, ...)
{
    (void)environment, (void)name, (void)category;
    if (status != fmi2OK)
        fprintf(stderr, "%d: %s\n", status, message);
}

#define FUNCTION(name) name##TYPE *name = (name##TYPE *)dlsym(library, #name)

int main(int argc, char **argv)
{
    char path[4096], uri[4096];
    if (argc < 4)
        return 1;
    int forget = argc > 4 && !strcmp(argv[4], "forget"), steps = argc > 5 ? atoi(argv[5]) : 100;
    snprintf(path, sizeof path, "%s/binaries/linux64/%s.so", argv[1], argv[2]);
    snprintf(uri, sizeof uri, "file://%s/resources", argv[1]);
    /* a Python of one's own, which nobody else sees */
    if (getenv("HOST_LOADS") && !dlopen(getenv("HOST_LOADS"), RTLD_NOW | RTLD_LOCAL))
        return 1;
    for (int round = 0; round < 2; round++) {
        /* by a relative path, from a folder that is left then */
        if (chdir(argv[1]))
            return 1;
        void *library = dlopen(path + strlen(argv[1]) + 1, RTLD_NOW);
        if (chdir("/"))
            return 1;
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        FUNCTION(fmi2Instantiate);
        FUNCTION(fmi2SetupExperiment);
        FUNCTION(fmi2EnterInitializationMode);
        FUNCTION(fmi2ExitInitializationMode);
        FUNCTION(fmi2SetReal);
        FUNCTION(fmi2DoStep);
        FUNCTION(fmi2GetReal);
        FUNCTION(fmi2FreeInstance);
        FUNCTION(fmi2GetFMUstate);
        FUNCTION(fmi2SetFMUstate);
        FUNCTION(fmi2FreeFMUstate);
        FUNCTION(fmi2SerializedFMUstateSize);
        FUNCTION(fmi2SerializeFMUstate);
        FUNCTION(fmi2DeSerializeFMUstate);
        FUNCTION(fmi2Reset);
        static fmi2CallbackFunctions callbacks;
        callbacks = (fmi2CallbackFunctions) {logger, calloc, free, NULL, NULL};
        fmi2Component fmu = fmi2Instantiate("fmu", fmi2CoSimulation, argv[3], uri, &callbacks, fmi2False, fmi2True);
        if (!fmu)
            return 3;
        fmi2SetupExperiment(fmu, fmi2False, 0.0, 0.0, fmi2False, 0.0);
        fmi2EnterInitializationMode(fmu);
        fmi2ExitInitializationMode(fmu);
        fmi2ValueReference input = 0, output = 1, unknown = 123456;
        fmi2Real value = 0.5;
        fmi2SetReal(fmu, &input, 1, &value);
        for (int k = 0; k < steps; k++)
            if (fmi2DoStep(fmu, 0.01 * k, 0.01, fmi2True) != fmi2OK)
                return 4;
        fmi2GetReal(fmu, &output, 1, &value);
        printf("%.17g\n", value);
        /* to another state and back, through bytes; one is freed, the other is left to the instance */
        fmi2FMUstate state = NULL, copy = NULL;
        size_t size;
        fmi2Real again;
        if (fmi2GetFMUstate(fmu, &state) || fmi2SerializedFMUstateSize(fmu, state, &size))
            return 5;
        fmi2Byte *bytes = malloc(size);
        if (fmi2SerializeFMUstate(fmu, state, bytes, size) || fmi2DeSerializeFMUstate(fmu, bytes, size, &copy))
            return 6;
        free(bytes);
        if (fmi2DoStep(fmu, 0.01 * steps, 0.01, fmi2True) || fmi2FreeFMUstate(fmu, &state) ||
            fmi2SetFMUstate(fmu, copy) || fmi2GetReal(fmu, &output, 1, &again) || again != value)
            return 7;
        /* what no FMU has, and on from a state before */
        if (fmi2GetReal(fmu, &unknown, 1, &value) != fmi2Error || fmi2DoStep(fmu, 0.01 * steps, 0.01, 1) != fmi2Error)
            return 8;
        if (fmi2SetFMUstate(fmu, copy) || fmi2DoStep(fmu, 0.01 * steps, 0.01, fmi2True))
            return 9;
        if (fmi2Reset(fmu) || fmi2GetReal(fmu, &output, 1, &value) != fmi2Error)
            return 10;
        if (forget)
            continue;
        fmi2FreeInstance(fmu);
        dlclose(library);
    }
    return 0;
}
