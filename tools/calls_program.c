/* Makes system calls of many kinds, always the same for a seed: `calls_program GATE SEED COUNT`. It waits for the end of
   the file or pipe GATE first. `calls_program GATE exec PROGRAM ARGUMENT ...` runs a program instead.

   Right and wrong arguments in turn: descriptors that are open and not, pointers to memory that is there, that is not, and
   to read-only memory, sizes and flags of all kinds. In this order: the process itself, threads, a child, children with
   filters of their own (one, three of them, SECCOMP_RET_TRACE and TRAP, one for all threads). No call waits for anything
   that does not come, and none's result depends on the time. What is before getpriority(77, 77) is not compared. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long state;
static unsigned draw(unsigned below) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % below;
}

/* What an argument is. */
enum { NONE, FD, BUFFER, SIZE, PATH, FLAGS, ZERO, SMALL, MODE, OPEN, SIGNAL, TIME, SET, LENGTH, AT, VECTOR, ADDRESS,
       PROTECTION, WORD, OWN, COMMAND, SOCKADDR, MSG, NONBLOCK, FAMILY, TYPE, NEVER, WHENCE, POLLS, ALIGNED, MAPFLAGS };

static const struct { short number; unsigned char kinds[6]; } calls[] = {
    {SYS_open, {PATH, OPEN, MODE}}, {SYS_openat, {AT, PATH, OPEN, MODE}}, {SYS_creat, {PATH, MODE}}, {SYS_close, {FD}},
    {SYS_read, {FD, BUFFER, SIZE}}, {SYS_write, {FD, BUFFER, SIZE}}, {SYS_pread64, {FD, BUFFER, SIZE, LENGTH}},
    {SYS_pwrite64, {FD, BUFFER, SIZE, LENGTH}}, {SYS_readv, {FD, VECTOR, SMALL}}, {SYS_writev, {FD, VECTOR, SMALL}},
    {SYS_lseek, {FD, LENGTH, WHENCE}}, {SYS_stat, {PATH, BUFFER}}, {SYS_lstat, {PATH, BUFFER}}, {SYS_fstat, {FD, BUFFER}},
    {SYS_newfstatat, {AT, PATH, BUFFER, SMALL}}, {SYS_statx, {AT, PATH, SMALL, FLAGS, BUFFER}}, {SYS_access, {PATH, SMALL}},
    {SYS_faccessat2, {AT, PATH, SMALL, SMALL}}, {SYS_truncate, {PATH, LENGTH}}, {SYS_ftruncate, {FD, LENGTH}},
    {SYS_fallocate, {FD, SMALL, LENGTH, LENGTH}}, {SYS_rename, {PATH, PATH}}, {SYS_renameat2, {AT, PATH, AT, PATH, SMALL}},
    {SYS_mkdir, {PATH, MODE}}, {SYS_rmdir, {PATH}}, {SYS_link, {PATH, PATH}}, {SYS_symlink, {PATH, PATH}},
    {SYS_unlink, {PATH}}, {SYS_unlinkat, {AT, PATH, SMALL}}, {SYS_readlink, {PATH, BUFFER, SIZE}}, {SYS_chmod, {PATH, MODE}},
    {SYS_fchmod, {FD, MODE}}, {SYS_chown, {PATH, OWN, OWN}}, {SYS_utimensat, {AT, PATH, TIME, SMALL}},
    {SYS_getdents64, {FD, BUFFER, SIZE}}, {SYS_fcntl, {FD, COMMAND, SMALL}}, {SYS_dup, {FD}}, {SYS_dup2, {FD, FD}},
    {SYS_dup3, {FD, FD, FLAGS}}, {SYS_fsync, {FD}}, {SYS_fdatasync, {FD}}, {SYS_ioctl, {FD, FLAGS, BUFFER}},
    {SYS_sendfile, {FD, FD, BUFFER, SMALL}}, {SYS_copy_file_range, {FD, ZERO, FD, ZERO, SMALL, SMALL}}, {SYS_umask, {MODE}},
    {SYS_getcwd, {BUFFER, SIZE}}, {SYS_statfs, {PATH, BUFFER}}, {SYS_fstatfs, {FD, BUFFER}},
    {SYS_getxattr, {PATH, PATH, BUFFER, SIZE}}, {SYS_setxattr, {PATH, PATH, BUFFER, SMALL, SMALL}},
    {SYS_listxattr, {PATH, BUFFER, SIZE}}, {SYS_memfd_create, {PATH, SMALL}}, {SYS_fadvise64, {FD, LENGTH, LENGTH, SMALL}},
    {SYS_inotify_init1, {NONBLOCK}}, {SYS_inotify_add_watch, {FD, PATH, FLAGS}}, {SYS_eventfd2, {SMALL, NONBLOCK}},
    {SYS_timerfd_create, {SMALL, NONBLOCK}}, {SYS_epoll_create1, {SMALL}}, {SYS_epoll_ctl, {FD, SMALL, FD, BUFFER}},
    {SYS_epoll_wait, {FD, BUFFER, SMALL, ZERO}}, {SYS_epoll_pwait, {FD, BUFFER, SMALL, ZERO, SET, SMALL}},
    {SYS_pipe2, {BUFFER, NONBLOCK}}, {SYS_poll, {POLLS, SMALL, ZERO}}, {SYS_ppoll, {POLLS, SMALL, NEVER, ZERO, ZERO}},
    {SYS_select, {SMALL, ZERO, ZERO, ZERO, NEVER}}, {SYS_socket, {FAMILY, TYPE, SMALL}},
    {SYS_socketpair, {FAMILY, TYPE, SMALL, BUFFER}}, {SYS_bind, {FD, SOCKADDR, SIZE}}, {SYS_listen, {FD, SMALL}},
    {SYS_connect, {FD, SOCKADDR, SIZE}}, {SYS_accept4, {FD, BUFFER, BUFFER, NONBLOCK}},
    {SYS_sendto, {FD, BUFFER, SMALL, MSG, SOCKADDR, SMALL}}, {SYS_recvfrom, {FD, BUFFER, SIZE, MSG, ZERO, ZERO}},
    {SYS_shutdown, {FD, SMALL}}, {SYS_setsockopt, {FD, SMALL, SMALL, BUFFER, SMALL}},
    {SYS_getsockname, {FD, BUFFER, BUFFER}}, {SYS_getpeername, {FD, BUFFER, BUFFER}},
    {SYS_mmap, {ZERO, SIZE, PROTECTION, MAPFLAGS, FD, LENGTH}}, {SYS_mprotect, {ALIGNED, SMALL, PROTECTION}},
    {SYS_madvise, {ALIGNED, SMALL, SMALL}}, {SYS_mincore, {ALIGNED, SIZE, BUFFER}}, {SYS_msync, {ALIGNED, SMALL, SMALL}},
    {SYS_mlock, {ALIGNED, SMALL}}, {SYS_munlock, {ALIGNED, SMALL}}, {SYS_brk, {ZERO}}, {SYS_mremap, {BUFFER, SMALL, SMALL, SMALL, ZERO}},
    {SYS_rt_sigaction, {SIGNAL, ZERO, BUFFER, SIZE}}, {SYS_rt_sigprocmask, {SMALL, SET, ZERO, WORD}},
    {SYS_rt_sigpending, {BUFFER, WORD}}, {SYS_kill, {OWN, ZERO}}, {SYS_sigaltstack, {ZERO, BUFFER}},
    {SYS_rt_sigtimedwait, {SET, ZERO, NEVER, WORD}}, {SYS_futex, {BUFFER, FLAGS, FLAGS, NEVER}}, {SYS_getpid, {NONE}},
    {SYS_gettid, {NONE}}, {SYS_getuid, {NONE}}, {SYS_geteuid, {NONE}}, {SYS_getgid, {NONE}}, {SYS_getppid, {NONE}},
    {SYS_getpgid, {SMALL}}, {SYS_getsid, {SMALL}}, {SYS_getresuid, {BUFFER, BUFFER, BUFFER}}, {SYS_setfsuid, {FLAGS}},
    {SYS_getgroups, {SMALL, BUFFER}}, {SYS_setpgid, {SMALL, FLAGS}}, {SYS_getpriority, {SMALL, SMALL}}, {SYS_sched_yield, {NONE}},
    {SYS_sched_getparam, {SMALL, BUFFER}}, {SYS_sched_getscheduler, {SMALL}}, {SYS_sched_get_priority_max, {SMALL}},
    {SYS_prlimit64, {ZERO, SMALL, ZERO, BUFFER}}, {SYS_getrlimit, {SMALL, BUFFER}}, {SYS_getrusage, {SMALL, BUFFER}},
    {SYS_prctl, {FLAGS, BUFFER}}, {SYS_uname, {BUFFER}}, {SYS_sysinfo, {BUFFER}}, {SYS_getrandom, {BUFFER, SIZE, SMALL}},
    {SYS_clock_gettime, {SMALL, BUFFER}}, {SYS_clock_getres, {SMALL, BUFFER}}, {SYS_nanosleep, {NEVER, ZERO}},
    {SYS_clock_nanosleep, {SMALL, SMALL, NEVER, ZERO}}, {SYS_getitimer, {SMALL, BUFFER}}, {SYS_alarm, {ZERO}},
    {SYS_timer_create, {SMALL, ZERO, BUFFER}}, {SYS_timer_delete, {SMALL}}, {SYS_timer_getoverrun, {SMALL}},
    {SYS_semget, {ZERO, SMALL, MODE}}, {SYS_shmget, {ZERO, SIZE, MODE}}, {SYS_msgget, {ZERO, MODE}}, {SYS_msgctl, {SMALL, FLAGS, BUFFER}},
    {SYS_personality, {FLAGS}}, {SYS_capget, {BUFFER, ZERO}}, {SYS_arch_prctl, {FLAGS, ZERO}}, {SYS_set_robust_list, {ZERO, SMALL}},
    {SYS_membarrier, {SMALL, SMALL}}, {SYS_rseq, {BUFFER, SMALL, SMALL, FLAGS}}, {SYS_io_setup, {FLAGS, BUFFER}},
    {SYS_wait4, {FLAGS, BUFFER, ZERO, ZERO}}, {SYS_quotactl, {FLAGS, PATH, FLAGS, BUFFER}}, {SYS_process_vm_readv, {ZERO, VECTOR, SMALL, VECTOR, SMALL, ZERO}},
};
enum { CALLS = sizeof calls / sizeof *calls, ROOM = 1 << 16 };

static char *room, *fixed;
static const char *paths[] = {"a", "b", "dir", "dir/c", "dir/../a", "missing/x", "a/b", "", ".", "link", "loop", "./////b", "user.x"};

static long number(unsigned kind) {
    static const long lengths[] = {0, 1, 7, 4096, 65536, 100000, -1, -4096, 1l << 20, 1l << 62};
    static const long sizes[] = {0, 1, 8, 16, 100, 4096, 8192, -1, 1l << 31, 128};
    static const long bad[] = {0, 1, 4095, 0x7ffffffff000, -1, -4096, 0x400000000000, 0x8000000000000000};
    switch (kind) {
    case FD: return draw(9) ? 3 + draw(14) : draw(2) ? -1 : 1000 + draw(9);
    case BUFFER: case SOCKADDR: return draw(6) ? (long)room + draw(ROOM - 20000) / 8 * 8 : draw(3) ? bad[draw(8)] : (long)fixed + draw(99);
    case ADDRESS: case ALIGNED: return draw(6) ? (long)room + ROOM + draw(4) * 4096 : bad[draw(8)];
    case VECTOR: case POLLS: return draw(6) ? (long)room + ROOM - 4096 - 16 * draw(8) : bad[draw(8)];
    case SIZE: return sizes[draw(10)];
    case LENGTH: return lengths[draw(10)];
    case PATH: return draw(12) ? (long)paths[draw(13)] : draw(4) ? bad[draw(8)] : (long)memset(room + ROOM - 9000, 'x', 4800);
    case FLAGS: return draw(3) ? draw(64) : draw(2) ? 1u << draw(32) : draw(1u << 31) * 2u;
    case SMALL: return draw(5) ? draw(9) : draw(2) ? 64 + draw(99) : -1 - (long)draw(3);
    case MODE: return draw(4) ? 0700 | draw(64) : draw(1 << 12) | 0600;
    case OPEN: return (draw(3) | (draw(2) ? O_CREAT : 0) | (draw(6) ? 0 : O_EXCL) | (draw(5) ? 0 : O_DIRECTORY) | (draw(5) ? 0 : O_APPEND)
                       | (draw(6) ? 0 : O_NOFOLLOW) | (draw(3) ? 0 : O_TRUNC) | (draw(2) ? 0 : O_CLOEXEC) | O_NONBLOCK);
    case SIGNAL: return draw(70);
    case TIME: case NEVER: return kind == NEVER || draw(3) ? (long)(room + 2 * ROOM - 4096 + 16 * draw(2)) : bad[1 + draw(7)];
    case SET: return draw(5) ? (long)(room + 2 * ROOM - 2048) : bad[draw(8)];
    case AT: return draw(4) ? AT_FDCWD : 3 + draw(14);
    case WORD: return draw(5) ? 8 : draw(20);
    case OWN: return draw(3) ? -1 : 0x7ffffff0 + draw(9);
    case PROTECTION: return draw(4);
    case MAPFLAGS: return draw(4) ? MAP_PRIVATE | (draw(4) ? MAP_ANONYMOUS : 0) : draw(4);
    case COMMAND: { static const int known[] = {F_GETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC, F_SETFD, F_GETPIPE_SZ, F_GET_SEALS, 99, -1}; return known[draw(9)]; }
    case MSG: return MSG_DONTWAIT | MSG_NOSIGNAL | (draw(4) ? 0 : MSG_PEEK);
    case NONBLOCK: return O_NONBLOCK | (draw(2) ? O_CLOEXEC : 0) | (draw(9) ? 0 : 5);
    case FAMILY: return draw(6) ? AF_UNIX : draw(2) ? AF_INET : draw(99) == 16 ? 1 : 200;
    case TYPE: return (1 + draw(5)) | SOCK_NONBLOCK | (draw(2) ? SOCK_CLOEXEC : 0);
    case WHENCE: return draw(7);
    }
    return 0;
}

/* Memory that arguments point to is what it was: what the kernel has written there decides nothing. */
static void refresh(void) {
    memset(room, 0, ROOM);
    struct { void *start; long size; } *vector = (void *)(room + ROOM - 4096 - 128);
    for (int i = 0; i < 64; i++) { vector[i].start = i % 7 == 3 ? (void *)8 : room + 64 * i; vector[i].size = i % 5 * 24; }
    memset(room + 2 * ROOM - 4096, 0, 4096);
    *(long *)(room + 2 * ROOM - 4096 + 24) = 2000000000; /* no valid number of nanoseconds */
}

static void some(int count) {
    while (count--) {
        int at = draw(CALLS);
        long a[6];
        refresh();
        if (count % 128 == 0) close_range(18, ~0u, 0);
        for (int i = 0; i < 6; i++) a[i] = number(calls[at].kinds[i]);
        if (calls[at].number == SYS_wait4) a[0] = 0x7fff0000;
        if (calls[at].number == SYS_futex) a[1] = draw(4) ? 1 + draw(2) * 128 : 64 + draw(60);
        if (calls[at].number == SYS_prctl) a[0] = draw(2) ? PR_SET_NAME : 5000 + a[0] % 99;
        if (calls[at].number == SYS_personality) a[0] = 0xffffffff;
        if (calls[at].number == SYS_arch_prctl) a[0] = 1 + a[0] % 99;
        if (calls[at].number == SYS_mremap) a[0] = 4097, a[3] &= 1;
        if (calls[at].number == SYS_rseq) a[1] = 1;
        if (calls[at].number == SYS_ioctl) a[1] = draw(2) ? 0x541b : 0x5401;
        if (calls[at].number == SYS_kill) a[0] = 0;
        if (calls[at].number == SYS_select) a[4] = (long)(room + 2 * ROOM - 4096);
        if (calls[at].number == SYS_rt_sigprocmask && a[1] > 0 && a[0] != 1) a[0] = 1;
        if (calls[at].number == SYS_rt_sigaction) a[2] = 0;
        if (calls[at].number == SYS_setpgid || calls[at].number == SYS_getpgid || calls[at].number == SYS_getsid) a[0] = 999999;
        if (calls[at].number == SYS_dup2 || calls[at].number == SYS_dup3) a[1] |= 32;
        if (calls[at].number == SYS_clock_nanosleep || calls[at].number == SYS_timer_create) a[0] &= 1;
        syscall(calls[at].number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

static volatile int turn;
static int share;
static void *thread(void *mine) {
    while (turn != (long)mine) ;
    some(share);
    turn++;
    return 0;
}
static void threads(int many, int count) {
    pthread_t made[4];
    turn = 0; share = count;
    for (long i = 0; i < many; i++) pthread_create(&made[i], 0, thread, (void *)(i + 1));
    turn = 1;
    while (turn <= many) ;
    for (int i = 0; i < many; i++) while (pthread_tryjoin_np(made[i], 0)) ;
}

static void handler(int number, siginfo_t *info, void *context) { }

/* What threads cannot be made without, nor be waited for. */
static int is_spared(int number) {
    static const int spared[] = {SYS_mmap, SYS_mprotect, SYS_brk, SYS_rt_sigprocmask, SYS_rseq, SYS_set_robust_list, SYS_futex, SYS_madvise, SYS_wait4};
    for (unsigned i = 0; i < sizeof spared / sizeof *spared; i++) if (spared[i] == number) return 1;
    return 0;
}

/* A filter with this answer for about every fifth kind of call. */
static void filter(unsigned flags, int plain) {
    static const unsigned answers[] = {
        SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ERRNO | EACCES, SECCOMP_RET_ERRNO | ENOSYS, SECCOMP_RET_ERRNO | 95, SECCOMP_RET_ERRNO | 133,
        SECCOMP_RET_ERRNO | 4095, SECCOMP_RET_ERRNO, SECCOMP_RET_TRACE, SECCOMP_RET_TRACE | 1, SECCOMP_RET_TRACE | 0xffff, SECCOMP_RET_TRAP | 3, SECCOMP_RET_LOG,
    };
    struct sock_filter code[3 + 2 * CALLS];
    int n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS; i++) {
        if (draw(4) || is_spared(calls[i].number)) continue;
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answers[draw(plain ? 7 : 12)]);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    if (flags == ~0u) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    else syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int child(int kind, int count) {
    int status;
    pid_t pid = fork();
    if (pid) { while (waitpid(pid, &status, 0) != pid) ; return status; }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    struct sigaction trapped = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &trapped, 0);
    if (kind == 1) filter(~0u, 1);
    if (kind == 2) { filter(0, 0); some(count / 2); filter(0, 0); filter(SECCOMP_FILTER_FLAG_LOG, 1); }
    if (kind == 3) filter(SECCOMP_FILTER_FLAG_TSYNC, 0);
    some(count);
    if (kind == 3 || kind == 0) threads(2, count / 4);
    if (kind == 2) { if (!(pid = fork())) { some(count / 4); _exit(1); } waitpid(pid, &status, 0); }
    _exit(kind);
}

int main(int argc, char **argv) {
    int gate = open(argv[1], O_RDONLY), count = atoi(argv[3]);
    char go;
    if (!strcmp(argv[2], "exec")) {
        while (read(gate, &go, 1) == 1) ;
        close(gate);
        getpriority(77, 77);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    state = strtoul(argv[2], 0, 0) * 77777 + 1;
    struct rlimit limit = {1 << 22, 1 << 22};
    setrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max = 300;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 1; i < 65; i++) if (i == SIGXFSZ || i == SIGPIPE || i == SIGIO || i == SIGURG) signal(i, SIG_IGN);
    close_range(4, ~0u, 0);
    /* A tracer has signals interrupt calls that nobody handles. */
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, 0);
    room = mmap((void *)0x10000000, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    fixed = mmap((void *)0x20000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mkdir("dir", 0755); symlink("a", "link"); symlink("loop", "loop");
    while (read(gate, &go, 1) == 1) ;
    close(gate);
    getpriority(77, 77);
    some(count);
    threads(3, count / 4);
    for (int kind = 0; kind < 4; kind++) child(kind, count / 2);
    some(count / 2);
    _exit(5);
}
