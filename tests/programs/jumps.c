/* Functions that are not called: parts of others that are jumped to, and what a signal returns to. Each of those that
   main() calls loads the word that it is given the address of. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BEGIN(name) ".balign 16, 0x90\n.globl " name "\n.type " name ", @function\n" name ":\n"
#define END(name) ".size " name ", . - " name "\n"

__asm__(".text\n"
        /* As compilers part a function. */
        BEGIN("f") ".cfi_startproc\npush %rdi\n.cfi_adjust_cfa_offset 8\njmp f.cold\n.cfi_endproc\n" END("f")
        BEGIN("f.cold") ".cfi_startproc\n.cfi_def_cfa_offset 16\npop %rax\n.cfi_def_cfa_offset 8\n"
        "mov (%rax), %rax\nret\n.cfi_endproc\n" END("f.cold")
        BEGIN("g") ".cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\nmov %rsp, %rbp\n"
        ".cfi_def_cfa_register 6\npush %rdi\njmp g_target\n.cfi_endproc\n" END("g")
        BEGIN("g_target") ".cfi_startproc\n.cfi_def_cfa 6, 16\n.cfi_offset 6, -16\npop %rax\npop %rbp\n"
        ".cfi_def_cfa 7, 8\nmov (%rax), %rax\nret\n.cfi_endproc\n" END("g_target")
        /* Without a table: where the stack pointer points is an address of data, of code, and none. */
        BEGIN("of_data") "push %rdi\njmp of_data_target\n" END("of_data")
        BEGIN("of_data_target") "pop %rax\nmov (%rax), %rax\nret\n" END("of_data_target")
        BEGIN("huge") "push $-16\njmp huge_target\n" END("huge")
        BEGIN("huge_target") "pop %rax\nmov (%rdi), %rax\nret\n" END("huge_target")
        BEGIN("of_code") "lea plain(%rip), %rax\npush %rax\njmp of_code_target\n" END("of_code")
        BEGIN("of_code_target") "pop %rax\nmov (%rdi), %rax\nret\n" END("of_code_target")
        BEGIN("plain") "mov (%rdi), %rax\nret\n" END("plain")
        BEGIN("restore") ".cfi_startproc\n.cfi_signal_frame\nnop\n.cfi_endproc\n" END("restore")
        BEGIN("restorer") "mov $15, %rax\nsyscall\n" END("restorer"));

long f(long *), g(long *), of_data(long *), huge(long *), of_code(long *), plain(long *);
void restorer(void);
static volatile int signals;

__attribute__((noinline)) void handler(int number) { signals += number; }

int main(void) {
    struct { void *handler; unsigned long flags; void (*restorer)(void); unsigned long mask; }
        action = {handler, 0x04000000, restorer, 0};
    long (*each[])(long *) = {f, g, of_data, huge, of_code, plain};
    long word = 0x1122334455667788;
    syscall(SYS_rt_sigaction, SIGUSR1, &action, 0, 8);
    raise(SIGUSR1);
    for (int i = 0; i < 6; i++)
        printf("%lx ", each[i](&word));
    printf("%lx %d\n", word, signals);
    return 5;
}
