/* Numbers as texts: digits by exact arithmetic on whole numbers of many words.
 *
 * A number is r/s, and all that reads back to it lies between (r − below)/s and (r + above)/s.  Digits are taken off r/s
 * one by one, until what is left is within these bounds [Steele and White, How to print floating-point numbers
 * accurately, 1990, "free format"].  It is slow, some 50 µs where numbers are extreme, and only messages need it.
 */
#include "number.h"

#include <stdint.h>

/* The largest is s for the smallest number, 2^1076, and ten times that: 35 words of 32 bits. */
enum { WORDS = 36, DIGITS = 17 };

typedef struct {
    uint32_t words[WORDS]; /* the lowest first */
} Whole;

static void set(Whole *a, uint64_t value)
{
    for (int k = 0; k < WORDS; k++)
        a->words[k] = k == 0 ? (uint32_t)value : k == 1 ? (uint32_t)(value >> 32) : 0;
}

static void multiply(Whole *a, uint32_t factor)
{
    uint64_t carry = 0;
    for (int k = 0; k < WORDS; k++) {
        carry += (uint64_t)a->words[k] * factor;
        a->words[k] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void double_times(Whole *a, int n)
{
    for (; n > 0; n -= 31)
        multiply(a, 1u << (n < 31 ? n : 31));
}

static void add(Whole *a, const Whole *b)
{
    uint64_t carry = 0;
    for (int k = 0; k < WORDS; k++) {
        carry += (uint64_t)a->words[k] + b->words[k];
        a->words[k] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void subtract(Whole *a, const Whole *b)
{
    uint64_t borrow = 0;
    for (int k = 0; k < WORDS; k++) {
        uint64_t difference = (uint64_t)a->words[k] - b->words[k] - borrow;
        a->words[k] = (uint32_t)difference;
        borrow = difference >> 63;
    }
}

static int compare(const Whole *a, const Whole *b)
{
    int k = WORDS - 1;
    while (k > 0 && a->words[k] == b->words[k])
        k--;
    return (a->words[k] > b->words[k]) - (a->words[k] < b->words[k]);
}

/* a + b beside c */
static int compare_sum(const Whole *a, const Whole *b, const Whole *c)
{
    Whole sum = *a;
    add(&sum, b);
    return compare(&sum, c);
}

typedef struct {
    Whole r, s, above, below;
    int even; /* whether the bounds themselves read back to the number */
} Fraction;

/* x = f·2^e; bounds are half way to the next numbers, of which the one below a power of two is nearer. */
static void begin(Fraction *x, uint64_t f, int e, int nearer)
{
    set(&x->r, f);
    set(&x->s, 1);
    set(&x->above, 1);
    set(&x->below, 1);
    double_times(&x->r, 1 + nearer + (e > 0 ? e : 0));
    double_times(&x->s, 1 + nearer + (e < 0 ? -e : 0));
    double_times(&x->above, nearer + (e > 0 ? e : 0));
    double_times(&x->below, e > 0 ? e : 0);
    x->even = !(f & 1);
}

static void ten_times(Fraction *x)
{
    multiply(&x->r, 10);
    multiply(&x->above, 10);
    multiply(&x->below, 10);
}

/* Make it less than 1 and not less than 0.1, bounds included; the power of ten that it lacks. */
static int scale(Fraction *x)
{
    int exponent = 0;
    for (; compare_sum(&x->r, &x->above, &x->s) >= !x->even; exponent++)
        multiply(&x->s, 10);
    for (;; exponent--) {
        Fraction next = *x;
        ten_times(&next);
        if (compare_sum(&next.r, &next.above, &next.s) >= !x->even)
            return exponent;
        *x = next;
    }
}

/* Take off the next digit. */
static int next_digit(Fraction *x)
{
    int digit = 0;
    ten_times(x);
    for (; compare(&x->r, &x->s) >= 0; digit++)
        subtract(&x->r, &x->s);
    return digit;
}

/* Whether what is left is more than half; of the half, what makes the last digit even. */
static int rounds_up(const Fraction *x, int digit)
{
    int side = compare_sum(&x->r, &x->r, &x->s);
    return side > 0 || (side == 0 && (digit & 1));
}

/* The fewest digits; how many. */
static int shortest(Fraction *x, char *digits)
{
    for (int n = 0;; n++) {
        int digit = next_digit(x);
        int low = compare(&x->r, &x->below) < x->even, high = compare_sum(&x->r, &x->above, &x->s) >= !x->even;
        if (low || high) {
            digits[n] = (char)('0' + digit + (high && (!low || rounds_up(x, digit))));
            return n + 1;
        }
        digits[n] = (char)('0' + digit);
    }
}

/* At most n digits, without zeros at their end; how many.  A carry may make the exponent larger. */
static int rounded(Fraction *x, char *digits, int n, int *exponent)
{
    int digit = 0;
    for (int k = 0; k < n; k++)
        digits[k] = (char)('0' + (digit = next_digit(x)));
    if (rounds_up(x, digit)) {
        for (; n && digits[n - 1] == '9'; n--)
            ;
        if (!n) {
            digits[n++] = '1';
            (*exponent)++;
        } else {
            digits[n - 1]++;
        }
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

/* Digits of x > 0, as 0.d₁d₂… × 10^exponent; how many. */
static int digits_of(uint64_t bits, NumberStyle style, char *digits, int *exponent)
{
    uint64_t fraction = bits & ((1ull << 52) - 1);
    int power = (int)(bits >> 52 & 0x7ff);
    Fraction x;
    begin(&x, power ? fraction | 1ull << 52 : fraction, (power ? power : 1) - 1075, !fraction && power > 1);
    if (style > 0) {
        set(&x.above, 0);
        set(&x.below, 0);
        x.even = 1;
    }
    *exponent = scale(&x);
    return style > 0 ? rounded(&x, digits, (int)style, exponent) : shortest(&x, digits);
}

static char *put(char *into, const char *text)
{
    while (*text)
        *into++ = *text++;
    return into;
}

static char *put_some(char *into, const char *digits, int n)
{
    for (int k = 0; k < n; k++)
        *into++ = digits ? digits[k] : '0';
    return into;
}

size_t write_integer(char *into, long long x)
{
    char digits[20], *start = into;
    int n = 0;
    unsigned long long rest = x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x;
    do
        digits[n++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (x < 0)
        *into++ = '-';
    while (n)
        *into++ = digits[--n];
    *into = 0;
    return (size_t)(into - start);
}

size_t write_number(char *into, double x, NumberStyle style)
{
    union {
        double x;
        uint64_t bits;
    } number = {x};
    char digits[DIGITS + 1] = "0", *start = into;
    int n = 1, point = 1;
    if (number.bits >> 63 && x == x)
        *into++ = '-';
    number.bits &= ~(1ull << 63);
    if (x != x || x - x != 0.0) {
        into = put(into, x != x ? "nan" : "inf");
        *into = 0;
        return (size_t)(into - start);
    }
    if (number.bits)
        n = digits_of(number.bits, style, digits, &point);
    if (point < -3 || point > (style > 0 ? (int)style : 16)) {
        *into++ = digits[0];
        if (n > 1)
            *into++ = '.';
        into = put_some(into, digits + 1, n - 1);
        int power = point - 1;
        into = put(into, power < 0 ? "e-" : "e+");
        if (power > -10 && power < 10)
            *into++ = '0';
        into += write_integer(into, power < 0 ? -power : power);
    } else if (point <= 0) {
        into = put_some(put(into, "0."), NULL, -point);
        into = put_some(into, digits, n);
    } else {
        into = put_some(into, digits, n < point ? n : point);
        into = put_some(into, NULL, point - n);
        if (n > point)
            *into++ = '.';
        into = put_some(into, digits + point, n - point);
        if (n <= point && style == AS_PYTHON)
            into = put(into, ".0");
    }
    *into = 0;
    return (size_t)(into - start);
}
