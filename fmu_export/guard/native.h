/* The parts of a native FMU's machine: its data file (native_data.c), its record and kernels (native_record.c), its
 * parameters (native_parameters.c, and those of the model file, native_program.c), its words (native_words.c), saved states (native_state.c) and what model exchange asks (native_exchange.c); native.c puts them
 * behind an instance.
 *
 * machine.h, which is made with the library, has the names of all numbers that the data file and the kernels share.
 */
#ifndef NATIVE_H
#define NATIVE_H

#include "fmu.h"
#include "machine.h"
#include "system.h"

/* ---- the kernels of a library, by name; kernels.c, which is made with the library, defines the tables */

typedef struct {
    const char *name;
    const void *address;
} Kernel;

/* One table per kind of code: with fused multiply-add and, for processors of the x86 family, without.  The last row of
 * a table is empty. */
extern const Kernel *const kernels[];
extern const int kinds_of_code;

#ifdef SOURCE_FMU
/* The data file of an FMU of sources: data.c, which is made with it. */
extern const uint64_t machine_data[];
extern const size_t size_of_machine_data;
#endif

/* ---- what an instance is made of */

/* The data file, once for all instances of an FMU. */
typedef struct Data {
    const char *bytes;
    size_t size;
    const void **codes; /* addresses of the kernels that it names, by number */
    const void *entries[N_ENTRIES];
    String *names;
    int users;
    struct Data *next;
} Data;

typedef struct {
    Data *data;
    Real *values;
    char *is_set;   /* by variable: whether the host has set the parameter */
    String *texts;  /* by variable of type String, in order: its value; memory of ours where is_set */
    Real *slopes;   /* first and second derivatives of inputs in the next step; NaN where none is given */
    Real *exchanged; /* for what model exchange asks: states, rates, directions */
    void *arena;    /* all arrays of the record, for one method */
    Real *own;      /* what parameters of the model file change, once one is set */
    int64_t R[R_SIZE];
    int64_t method; /* for which the arena is laid out; −1: none */
    int made;       /* whether the record is that of the parameters as they are */
    Text words;
} Machine;

/* ---- native_data.c */

/* A section of the data file, and its size in bytes. */
const void *section(const Data *data, int k, size_t *n);
#define INTS(data, name) ((const int64_t *)section(data, SECTION_##name, NULL))
#define REALS(data, name) ((const Real *)section(data, SECTION_##name, NULL))
#define NUMBER(data, name) (REALS(data, NUMBERS)[NUMBER_##name])

/* How many items of a width a section has. */
size_t count(const Data *data, int k, size_t width);
/* The text number k of a section of texts. */
String text_of(const Data *data, int name, size_t k);
size_t variables_of(const Data *data);
/* Those before what belongs to model exchange: saved states have them. */
size_t saved_variables(const Data *data);
int has_data(String folder);
/* The data of a folder, which other instances may have loaded from another one; NULL, or what is wrong. */
String load_data(String folder, Data **out);
void unload_data(Data *data);

/* ---- native_record.c: kernels answer 0, or why they could not do it */

int64_t plain(Machine *machine, int entry);
int64_t at_time(Machine *machine, int entry, Real t);
int64_t over(Machine *machine, int entry, Real t, Real size);
int64_t with_number(Machine *machine, int entry, int64_t number);
/* Lay out the pieces of the message that an answer means. */
void explain(Machine *machine, int64_t why, Real size);
int64_t with_array(Machine *machine, int entry, const Real *array, size_t n);
/* An array of the record; the state X, and `control` in it. */
Real *reals(const Machine *machine, int place);
Real *state_of(const Machine *machine);
Real *control_of(const Machine *machine);
/* Lay out all arrays for a method; whether there was memory. */
int lay_out(Machine *machine, int64_t method);
/* Let the record lead to these numbers of the model. */
void use_model(Machine *machine, const Real *numbers);

/* ---- native_words.c */

/* A text with up to six values; a value is a text, or a number if that is NULL. */
typedef struct {
    String text;
    Real number;
} Value;

String worded(Machine *machine, int text, const Value *values, int n);
/* The same of a text that is no text of WORDS. */
String filled(Machine *machine, String template, const Value *values, int n);
/* What an answer of a kernel means, before the state is taken back; `size` is that of a step. */
String why_of(Machine *machine, int64_t why, Real size);

/* ---- native_parameters.c */

/* The first variable of a role, or the number of variables. */
size_t of_role(const Data *data, int role);
/* The place of a variable of type String among those; the value of one of a role. */
size_t text_number(const Data *data, size_t variable);
String text_value(const Machine *machine, int role);
/* The number of the method that the parameters name, or −1 with words. */
int64_t chosen_method(Machine *machine, String *why);
/* Integrator's settings into the record; NULL, or what is wrong. */
String set_up(Machine *machine, const Block *block);
/* Inputs, gravity and the wished state into X. */
void fill(Machine *machine);
/* The machine with the inputs as they are; made anew while parameters and inputs may still change it. */
String moving(Instance *instance);
/* Answer with a status, and say why. */
Status wrong(Instance *instance, Status status, String why);

/* ---- native_program.c */

/* Let a record that was just laid out follow the parameters of the file that are set; NULL, or what is wrong. */
String take_parameters(Machine *machine);
/* Go on with other values of tunable parameters, all or none; NULL, or what is wrong. */
String tune(Machine *machine, const Reference *references, size_t n, const Real *values);
/* Parameters of the file in saved states: write them, if `into` is not NULL, and return their size; NULL, or what is
 * wrong with them; set them, and whether any are other ones than before. */
size_t keep_parameters(const Machine *machine, char *into);
String wrong_parameters(const Data *data, const char *from, const char *end);
int put_back_parameters(Machine *machine, const char *from);

/* ---- native_exchange.c: as Inside (fmu.h) says */

Status set_time(Instance *instance, Real t);
Status set_states(Instance *instance, const Real *x);
Status get_states(Instance *instance, Real *x);
Status get_rates(Instance *instance, Real *rates);
Status get_indicators(Instance *instance, Real *indicators);
Status get_nominals(Instance *instance, Real *x);
Status completed_step(Instance *instance, Boolean *event);
Status new_discrete_states(Instance *instance, Boolean *changed, Real *next);
Status next_event(Instance *instance, Real t, Real *next);
/* Values of the variables that are states and rates. */
void take_states(Instance *instance);
/* DIRECTIONAL of ask, along states and inputs. */
Status along_states(Instance *instance);

/* ---- native_state.c: as Inside (fmu.h) says */

Status get_state(Instance *instance, State *state);
Status set_state(Instance *instance, State state);
Status free_state(Instance *instance, State state);
Status state_size(Instance *instance, State state, size_t *n);
Status state_to_bytes(Instance *instance, State state, Byte *bytes, size_t n);
Status state_from_bytes(Instance *instance, const Byte *bytes, size_t n, State *state);

#endif
