/* The kernels of a native FMU's library, by name; kernels.c, which is made with the library, defines the tables. */
#ifndef NATIVE_H
#define NATIVE_H

typedef struct {
    const char *name;
    const void *address;
} Kernel;

/* One table per kind of code: with fused multiply-add and, for processors of the x86 family, without.  The last row of
 * a table is empty. */
extern const Kernel *const kernels[];
extern const int kinds_of_code;

#endif
