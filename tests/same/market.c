/* Functions of all kinds with debug information, and static probes, one of which has a semaphore. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
        ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"
        ".popsection\n");
#define PROBE(name, semaphore, a, b)                                                                       \
    __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                     \
                     ".4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"             \
                     "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " semaphore "\n.asciz \"market\"\n"  \
                     ".asciz \"" name "\"\n.asciz \"-4@%0 8@%1\"\n994: .balign 4\n.popsection\n"           \
                     : : "nor"((int)(a)), "nor"((long)(b)))

__attribute__((section(".probes"), used)) volatile unsigned short market_sale_semaphore;

enum colour { RED = 3, GREEN, BLUE = -2 };
struct point { int x, y; };
struct fruit {
    char name[12];
    struct point at;
    unsigned ripe : 3, sort : 5;
    enum colour colour;
    struct fruit *next;
    const char *seller;
};
struct large { long words[5]; };

long sold = 11;
static struct fruit first = {"apple", {7, -7}, 5, 17, BLUE, NULL, "Ann"};
static struct fruit second = {"pear", {-1, 1 << 20}, 2, 9, GREEN, &first, "Bob"};
static jmp_buf back;

__attribute__((noipa)) long price(struct fruit *fruit, int count) {
    long total = 0;
    for (int i = 0; i < count; i++) {
        long each = fruit->at.x * 10 + i;
        total += each;
    }
    return total;
}

__attribute__((noipa)) long six(char a, short b, int c, long d, unsigned char e, void *f, int g, long h) {
    return a + b + c + d + e + (f != NULL) + g + h;
}

__attribute__((noipa)) struct large grown(struct large from, struct point by) {
    from.words[1] += by.x * by.y;
    return from;
}

__attribute__((noipa)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static inline __attribute__((always_inline)) int squared(int side) {
    int area = side * side;
    __asm__ volatile("" : : "r"(area));
    return area;
}

__attribute__((noipa)) int areas(int a, int b) { return squared(a) + squared(b); }

__attribute__((noipa)) double mean(double a, float b) { return (a + b) / 2; }

__attribute__((noipa)) void leave(int how) { longjmp(back, how); }

__attribute__((noipa)) int sells(struct fruit *fruit, int count) {
    sold += count;
    if (market_sale_semaphore)
        PROBE("sale", "market_sale_semaphore", count, fruit->name);
    PROBE("any", "0", sold, fruit->seller);
    return count;
}

__attribute__((noipa)) long spin(long rounds) {
    long left = rounds;
    while (left) __asm__ volatile("dec %0" : "+r"(left));
    return rounds;
}

static int descending(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }

int main(int count, char **words) {
    int numbers[] = {5, 3, 9, 1, 7};
    volatile long sum = 0;
    for (int i = 1; i <= 3; i++) sum += price(i & 1 ? &second : &first, i);
    sum += six(-1, -2, 3, -4, 200, &first, 7, 8);
    struct large large = {{1, 2, 3, 4, 5}};
    sum += grown(large, (struct point){6, 7}).words[1];
    sum += fibonacci(7);
    sum += areas(4, 5);
    sum += mean(1.5, 2.5);
    int how = setjmp(back);
    if (how < 3) leave(how + 1);
    sum += sells(&first, 4) + sells(&second, 2);
    qsort(numbers, 5, sizeof *numbers, descending);
    sum += strlen(getenv("MARKET") ? "open" : "shut") + numbers[0];
    if (count > 1) spin(atol(words[1]));
    return sum & 63;
}
