/* A program whose variables are in as many kinds of places as compilers know. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

struct flags { unsigned ready : 1; int level : 5; unsigned long mask : 37; _Bool last : 1; };
struct small { int first; char second; };
struct pair { long left, right; };
struct mixed { double real; int number; };
struct large { char name[24]; int values[6]; struct pair pair; };
union word { uint32_t whole; uint16_t halves[2]; struct { uint8_t low, high; } bytes; float real; };
enum state { IDLE, BUSY = 7, BROKEN = -2 };
struct node {
    struct node *next;
    struct flags flags;
    union word word;
    enum state state;
    struct { short x; struct { char deep; long deeper; } inner; };
    const char *text;
    struct large large;
    int (*compare)(const void *, const void *);
    unsigned char tail[];
};

__thread int calls_of_thread = 3;
static __thread struct pair pair_of_thread = { 5, 6 };
static long total_of_file;
int limits[4] = { 10, 20, 30, 40 };
const char *title = "variables";
static struct large large_of_file = { "file", { 1, 2, 3, 4, 5, 6 }, { 7, 8 } };
volatile long sink;
volatile double real_sink;

static int compare(const void *one, const void *two)
{
    int left = *(const int *)one, right = *(const int *)two;
    return (left > right) - (left < right);
}

APART long many(int a, long b, char c, short d, unsigned char e, unsigned long f, int g, short h, signed char i, long *j)
{
    long sum = a + b * 2;
    sink = sum;
    sum += c + d + e;
    sink = sum + f;
    sum += f + g + h + i;
    *j = sum;
    sink = *j;
    return sum;
}

APART long by_value(struct small small, struct pair pair, struct mixed mixed, struct large large, union word word)
{
    long sum = small.first + small.second;
    sink = sum;
    sum += pair.left * pair.right;
    real_sink = mixed.real + mixed.number;
    sink = sum;
    for (int index = 0; index < 6; index++) {
        int value = large.values[index] * 2;
        sum += value;
        sink = sum;
    }
    return sum + word.halves[1];
}

static inline __attribute__((always_inline)) long scaled(long value, int factor)
{
    long product = value * factor;
    sink = product;
    if (product > 100) {
        long half = product / 2;
        sink = half;
        product = half;
    }
    return product;
}

APART long inlined_twice(long start, int steps)
{
    long result = scaled(start, 3);
    for (int step = 0; step < steps; step++) {
        result += scaled(result, step);
        sink = result;
    }
    return result;
}

static long split(struct pair *pair, int times)
{
    struct pair local = { pair->left, pair->right };
    for (int time = 0; time < times; time++) {
        local.left += local.right;
        local.right ^= time;
        sink = local.left;
    }
    sink = local.right;
    return local.left - local.right;
}

APART long shadows(int value)
{
    static int count = 4;
    static struct pair kept = { 1, 2 };
    long result = value;
    count++;
    {
        long value = result * 3;
        sink = value;
        {
            char value[8] = "inner";
            value[0] += result;
            sink = value[0];
            result += value[1];
        }
        result += value;
    }
    kept.left += result;
    sink = kept.left + count;
    return result;
}

APART long walk(struct node *node, int depth)
{
    long found = 0;
    while (node) {
        struct flags flags = node->flags;
        unsigned whole = node->word.whole;
        found += flags.level + whole;
        sink = found;
        if (flags.ready && node->state == BUSY) {
            const char *text = node->text;
            size_t length = strlen(text);
            found += length;
            sink = length;
        }
        node = node->next;
        depth++;
    }
    sink = depth;
    return found;
}

APART double reals(double first, float second, long double third, int times)
{
    double sum = first;
    float factor = second * 2;
    for (int time = 0; time < times; time++) {
        sum = sum * factor + time;
        real_sink = sum;
    }
    return sum + (double)third;
}

APART int recursive(int depth, const char *text)
{
    int before = depth * 2;
    char copy[16];
    snprintf(copy, sizeof copy, "%s%d", text, depth);
    sink = before;
    if (depth <= 0)
        return before + copy[0];
    int after = recursive(depth - 1, copy + 1) + before;
    sink = after;
    return after;
}

APART long of_variable_length(int length)
{
    int numbers[length];
    for (int index = 0; index < length; index++)
        numbers[index] = length - index;
    qsort(numbers, length, sizeof numbers[0], compare);
    sink = numbers[0];
    return numbers[length - 1];
}

APART long constants(unsigned seed)
{
    const int seven = 7;
    long nothing = 0;
    unsigned char byte = seed * seven;
    short negative = -(int)seed;
    uint64_t wide = (uint64_t)seed << 33 | byte;
    sink = wide;
    __int128 huge = (__int128)wide * wide;
    sink = huge >> 64;
    sink = negative;
    return nothing + byte;
}

APART long of_thread(int by)
{
    calls_of_thread += by;
    pair_of_thread.left += by;
    sink = calls_of_thread + pair_of_thread.left;
    total_of_file += pair_of_thread.right;
    large_of_file.values[by & 3]++;
    return total_of_file + limits[by & 3];
}

int main(int argc, char **argv)
{
    struct node second = { .flags = { 1, -3, 0x123456789, 1 }, .word.whole = 9, .state = BUSY, .text = "second" };
    struct node first = { .next = &second, .flags = { 1, 7, 5, 0 }, .state = BROKEN, .x = 4, .inner.deeper = 11 };
    first.compare = compare;
    first.large = large_of_file;
    struct small small = { argc, 2 };
    struct pair pair = { argc + 1, 4 };
    struct mixed mixed = { 1.5, 3 };
    union word word = { .whole = 0x10002 };
    long last = 0;
    for (int round = 0; round < 2; round++) {
        last += many(argc, 2, 'c', -4, 5, 6, 7, -8, 9, &last);
        last += by_value(small, pair, mixed, first.large, word);
        last += inlined_twice(argc + round, 3);
        last += split(&pair, 3);
        last += shadows(argc + round);
        last += walk(&first, argc);
        last += (long)reals(1.25, 2.5f, 3.75L, 3);
        last += recursive(2, argv[0]);
        last += of_variable_length(3 + round);
        last += constants(argc + 41);
        last += of_thread(round + 1);
    }
    return last == 1;
}
