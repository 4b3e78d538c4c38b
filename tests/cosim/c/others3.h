/* Functions of FMI 3.0 that an FMU of the tests does not have: of model exchange unless there is HAS_EXCHANGE, of
   co-simulation and types other than Float64 if there is. */

#define OTHER(name, ...) fmi3Status name(fmi3Instance c, ##__VA_ARGS__) { (void)c; return fmi3Error; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef HAS_EXCHANGE
typedef fmi3ValueReference Ref;
#endif

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String a, fmi3String b, fmi3String d, bool e, bool f, void *g,
                                               fmi3LogMessageCallback h, fmi3ClockUpdateCallback i,
                                               fmi3LockPreemptionCallback j, fmi3UnlockPreemptionCallback k) { return NULL; }
OTHER(fmi3EnterStepMode)
OTHER(fmi3EnterConfigurationMode)
OTHER(fmi3ExitConfigurationMode)
OTHER(fmi3EvaluateDiscreteStates)
OTHER(fmi3GetBinary, const Ref v[], size_t n, size_t sizes[], fmi3Binary values[], size_t m)
OTHER(fmi3SetBinary, const Ref v[], size_t n, const size_t sizes[], const fmi3Binary values[], size_t m)
OTHER(fmi3GetClock, const Ref v[], size_t n, fmi3Clock values[])
OTHER(fmi3SetClock, const Ref v[], size_t n, const fmi3Clock values[])
OTHER(fmi3GetNumberOfVariableDependencies, Ref v, size_t *n)
OTHER(fmi3GetVariableDependencies, Ref v, size_t a[], Ref b[], size_t d[], fmi3DependencyKind e[], size_t n)
OTHER(fmi3GetDirectionalDerivative, const Ref a[], size_t n, const Ref b[], size_t m, const double s[], size_t k,
      double v[], size_t l)
OTHER(fmi3GetAdjointDerivative, const Ref a[], size_t n, const Ref b[], size_t m, const double s[], size_t k, double v[],
      size_t l)
OTHER(fmi3GetIntervalDecimal, const Ref v[], size_t n, double a[], fmi3IntervalQualifier q[])
OTHER(fmi3GetIntervalFraction, const Ref v[], size_t n, uint64_t a[], uint64_t b[], fmi3IntervalQualifier q[])
OTHER(fmi3GetShiftDecimal, const Ref v[], size_t n, double a[])
OTHER(fmi3GetShiftFraction, const Ref v[], size_t n, uint64_t a[], uint64_t b[])
OTHER(fmi3SetIntervalDecimal, const Ref v[], size_t n, const double a[])
OTHER(fmi3SetIntervalFraction, const Ref v[], size_t n, const uint64_t a[], const uint64_t b[])
OTHER(fmi3SetShiftDecimal, const Ref v[], size_t n, const double a[])
OTHER(fmi3SetShiftFraction, const Ref v[], size_t n, const uint64_t a[], const uint64_t b[])
OTHER(fmi3GetOutputDerivatives, const Ref v[], size_t n, const int32_t orders[], double a[], size_t m)
OTHER(fmi3ActivateModelPartition, Ref v, double t)

#ifndef HAS_EXCHANGE
fmi3Instance fmi3InstantiateModelExchange(fmi3String a, fmi3String b, fmi3String d, bool e, bool f, void *g,
                                          fmi3LogMessageCallback h) { return NULL; }
OTHER(fmi3EnterEventMode)
OTHER(fmi3EnterContinuousTimeMode)
OTHER(fmi3UpdateDiscreteStates, bool *a, bool *b, bool *d, bool *e, bool *f, double *g)
OTHER(fmi3CompletedIntegratorStep, bool a, bool *b, bool *d)
OTHER(fmi3SetTime, double t)
OTHER(fmi3SetContinuousStates, const double x[], size_t n)
OTHER(fmi3GetContinuousStateDerivatives, double x[], size_t n)
OTHER(fmi3GetEventIndicators, double x[], size_t n)
OTHER(fmi3GetContinuousStates, double x[], size_t n)
OTHER(fmi3GetNominalsOfContinuousStates, double x[], size_t n)
OTHER(fmi3GetNumberOfEventIndicators, size_t *n)
OTHER(fmi3GetNumberOfContinuousStates, size_t *n)
#else
fmi3Instance fmi3InstantiateCoSimulation(fmi3String a, fmi3String b, fmi3String d, bool e, bool f, bool g, bool h,
                                         const Ref i[], size_t n, void *j, fmi3LogMessageCallback k,
                                         fmi3IntermediateUpdateCallback l) { return NULL; }
OTHER(fmi3DoStep, double t, double h, bool f, bool *a, bool *b, bool *d, double *e)
OTHER(fmi3SerializedFMUStateSize, fmi3FMUState s, size_t *n)
OTHER(fmi3SerializeFMUState, fmi3FMUState s, uint8_t b[], size_t n)
OTHER(fmi3DeserializeFMUState, const uint8_t b[], size_t n, fmi3FMUState *s)
#define OTHERS(name, type) \
    OTHER(fmi3Get##name, const Ref v[], size_t n, type a[], size_t m) \
    OTHER(fmi3Set##name, const Ref v[], size_t n, const type a[], size_t m)
OTHERS(Float32, float)
OTHERS(Int8, int8_t)
OTHERS(UInt8, uint8_t)
OTHERS(Int16, int16_t)
OTHERS(UInt16, uint16_t)
OTHERS(Int32, int32_t)
OTHERS(UInt32, uint32_t)
OTHERS(Int64, int64_t)
OTHERS(UInt64, uint64_t)
OTHERS(Boolean, bool)
OTHERS(String, fmi3String)
#endif
