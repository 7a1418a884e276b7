/* Makes the calls that programs make most, with arguments of many kinds and with errors, one group a word. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BAD ((void *)0x1000)
static char buf[8192];
static void caught(int signal) { (void)signal; }

static void files(void)
{
    int fd = open("made", O_RDWR | O_CREAT | O_TRUNC, 0644), bits[] = {
        O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_APPEND, O_RDONLY | O_NONBLOCK, O_WRONLY | O_SYNC, O_RDONLY | O_DSYNC,
        O_RDONLY | O_CLOEXEC | O_NOFOLLOW, O_RDONLY | O_DIRECTORY, O_RDONLY | O_PATH, O_RDWR | O_EXCL | O_CREAT,
        O_RDONLY | O_NOATIME, O_RDONLY | O_DIRECT, O_RDONLY | O_NOCTTY, 3, O_TMPFILE | O_RDWR, 0x20000000 | O_RDONLY };
    for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++) {
        close(syscall(SYS_open, "made", bits[i], 0600));
        close(syscall(SYS_openat, AT_FDCWD, ".", bits[i], 0640));
        close(syscall(SYS_openat, 99, "made", bits[i], 0));
    }
    syscall(SYS_open, "absent", 0); syscall(SYS_open, BAD, 0); syscall(SYS_open, "", O_WRONLY); syscall(SYS_open, NULL, 0);
    write(fd, "one\ttwo\n\"three\" \\ \001\0012\377\0 end and some more to be cut here", 60);
    write(fd, "", 0); write(fd, "exactly thirty-two characters ..", 32); write(fd, "thirty-three characters ....... .", 33);
    write(99, "x", 1); write(fd, BAD, 4); write(fd, NULL, 0); write(fd, NULL, 4);
    lseek(fd, 0, SEEK_SET); lseek(fd, 3, SEEK_CUR); lseek(fd, -3, SEEK_END); lseek(fd, 0, SEEK_DATA);
    lseek(fd, 0, SEEK_HOLE); lseek(99, 0, 0); lseek(fd, -9, SEEK_SET); lseek(fd, 0, 7); lseek(fd, 0, SEEK_SET);
    read(fd, buf, 5); read(fd, buf, 32); read(fd, buf, 100); read(fd, buf, 100); read(fd, BAD, 4); read(99, buf, 1); read(fd, buf, 0);
    pread64(fd, buf, 10, 2); pwrite64(fd, "ab", 2, 1); pread64(fd, buf, 10, -1); pwrite64(99, "ab", 2, 0); pread64(fd, buf, 9, 1 << 20);
    struct iovec vec[3] = {{"abc", 3}, {buf, 40}, {BAD, 2}}, in[2] = {{buf, 3}, {buf + 100, 50}};
    writev(fd, vec, 2); writev(fd, vec, 3); writev(99, vec, 1); writev(fd, NULL, 0); writev(fd, vec, 0);
    lseek(fd, 0, SEEK_SET); readv(fd, in, 2); readv(fd, in, 1); readv(99, in, 1);
    struct stat st; struct stat *null = BAD;
    fstat(fd, &st); syscall(SYS_fstat, fd, &st); syscall(SYS_fstat, 99, &st); syscall(SYS_fstat, fd, null); syscall(SYS_fstat, 0, &st);
    syscall(SYS_stat, "/dev/null", &st); syscall(SYS_stat, "absent", &st); syscall(SYS_stat, ".", &st); syscall(SYS_lstat, "link", &st);
    syscall(SYS_newfstatat, AT_FDCWD, "made", &st, 0); syscall(SYS_newfstatat, AT_FDCWD, "link", &st, AT_SYMLINK_NOFOLLOW);
    syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH); syscall(SYS_newfstatat, 99, "", &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    syscall(SYS_newfstatat, AT_FDCWD, "/tmp", &st, AT_NO_AUTOMOUNT); syscall(SYS_newfstatat, AT_FDCWD, "absent", &st, 0x80000000);
    struct statx sx;
    statx(AT_FDCWD, "made", 0, STATX_BASIC_STATS, &sx); statx(AT_FDCWD, "made", AT_STATX_DONT_SYNC, STATX_ALL, &sx);
    statx(AT_FDCWD, "absent", AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MODE, &sx); statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &sx);
    statx(AT_FDCWD, ".", AT_STATX_FORCE_SYNC | AT_NO_AUTOMOUNT, STATX_MODE | STATX_MNT_ID, &sx);
    struct statfs fs; statfs("/proc", &fs); statfs("absent", &fs);
    access("made", R_OK); access("made", R_OK | W_OK | X_OK); access("absent", F_OK); access(BAD, W_OK); access("made", 15);
    syscall(SYS_faccessat, AT_FDCWD, "made", W_OK); syscall(SYS_faccessat2, AT_FDCWD, "made", R_OK, AT_EACCESS);
    syscall(SYS_faccessat2, 3, "made", F_OK, AT_SYMLINK_NOFOLLOW | AT_EACCESS);
    dup(fd); dup(99); dup2(fd, 50); dup2(99, 50); dup3(fd, 51, O_CLOEXEC); dup3(fd, 51, 0); dup3(fd, fd, 0);
    fcntl(fd, F_GETFD); fcntl(50, F_GETFD); fcntl(51, F_GETFD); fcntl(99, F_GETFD); fcntl(fd, F_SETFD, FD_CLOEXEC); fcntl(fd, F_SETFD, 0); fcntl(fd, F_GETFD);
    fcntl(fd, F_GETFL); fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK); fcntl(fd, F_GETFL); fcntl(fd, F_SETFL, O_APPEND); fcntl(fd, F_DUPFD, 60);
    fcntl(fd, F_DUPFD_CLOEXEC, 60); fcntl(fd, F_DUPFD, 100000000);
    struct flock lock = {F_WRLCK, SEEK_SET, 0, 10, 0}; fcntl(fd, F_SETLK, &lock); lock.l_type = F_RDLCK; fcntl(fd, F_SETLKW, &lock);
    lock.l_type = F_UNLCK; fcntl(fd, F_SETLK, &lock); lock.l_type = F_WRLCK; fcntl(fd, F_GETLK, &lock); fcntl(99, F_SETLK, &lock);
    flock(fd, LOCK_EX); flock(fd, LOCK_SH | LOCK_NB); flock(fd, LOCK_UN); flock(99, LOCK_EX | LOCK_NB);
    ftruncate(fd, 100); ftruncate(fd, -1); truncate("made", 50); fsync(fd); fdatasync(fd); fsync(99); syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    posix_fadvise(fd, 0, 100, POSIX_FADV_DONTNEED);
    fchmod(fd, 0600); chmod("made", 04755); chmod("absent", 0); syscall(SYS_fchmodat, AT_FDCWD, "made", 0644); fchown(fd, -1, -1); chown("absent", 0, 0); lchown("made", -1, -1);
    fchownat(AT_FDCWD, "made", -1, -1, AT_SYMLINK_NOFOLLOW); umask(022); umask(0); umask(077); umask(022);
    mkdir("sub", 0755); mkdir("sub", 0700); mkdirat(AT_FDCWD, "sub/x", 0711); rmdir("sub/x"); rmdir("absent"); chdir("sub"); chdir(".."); chdir("absent"); fchdir(99);
    int dir = open(".", O_RDONLY | O_DIRECTORY); fchdir(dir);
    rename("made", "moved"); rename("absent", "x"); renameat(AT_FDCWD, "moved", AT_FDCWD, "made"); syscall(SYS_renameat2, AT_FDCWD, "made", AT_FDCWD, "sub", RENAME_NOREPLACE);
    link("made", "hard"); link("absent", "x"); linkat(AT_FDCWD, "made", AT_FDCWD, "hard2", AT_SYMLINK_FOLLOW); symlink("made", "soft"); symlinkat("a", AT_FDCWD, "soft2"); symlink("made", "soft");
    readlink("soft", buf, 100); readlink("soft", buf, 2); readlink("made", buf, 100); readlink("absent", buf, 100); readlinkat(AT_FDCWD, "soft2", buf, 9);
    unlink("hard"); unlink("absent"); unlinkat(AT_FDCWD, "hard2", 0); unlinkat(AT_FDCWD, "sub", AT_REMOVEDIR); unlink("soft"); unlink("soft2"); unlinkat(99, "x", 0);
    struct timespec times[2] = {{1000000000, 0}, {1000000001, 5}}, now[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    utimensat(AT_FDCWD, "made", times, 0); utimensat(AT_FDCWD, "made", now, AT_SYMLINK_NOFOLLOW); utimensat(AT_FDCWD, "absent", NULL, 0);
    syscall(SYS_getdents64, dir, buf, sizeof buf); syscall(SYS_getdents64, dir, buf, sizeof buf); syscall(SYS_getdents64, fd, buf, 10); syscall(SYS_getdents64, 99, buf, 100);
    syscall(SYS_getcwd, buf, 2); int pair[2];
    pipe(pair); syscall(SYS_pipe, pair); pipe2(pair, O_CLOEXEC); pipe2(pair, O_CLOEXEC | O_NONBLOCK); pipe2(pair, 0); syscall(SYS_pipe2, BAD, 0); pipe2(pair, 3);
    ioctl(fd, TCGETS, buf); ioctl(pair[0], FIONREAD, buf); ioctl(fd, FIOCLEX); ioctl(fd, FIONCLEX); int one = 1; ioctl(pair[0], FIONBIO, &one); ioctl(99, TIOCGWINSZ, buf); ioctl(0, TIOCGPGRP, buf);
    lseek(fd, 0, SEEK_SET); sendfile(pair[1], fd, NULL, 10); syscall(SYS_copy_file_range, fd, NULL, 50, NULL, 10, 0);
    unlink("made"); close(fd); close(dir); close(99);
    syscall(SYS_memfd_create, "name", MFD_CLOEXEC); syscall(SYS_memfd_create, "x", 0); getrandom(buf, 4, GRND_NONBLOCK); syscall(SYS_getrandom, BAD, 4, 0);
}

static void memory(void)
{
    int prots[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE | PROT_EXEC, 0x40};
    int kinds[] = {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_LOCKED, MAP_SHARED_VALIDATE | MAP_ANONYMOUS, MAP_ANONYMOUS, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN };
    for (int p = 0; p < 5; p++)
        for (int k = 0; k < 8; k++) {
            void *at = mmap(NULL, 8192, prots[p], kinds[k], -1, 0);
            if (at != MAP_FAILED) { mprotect(at, 4096, prots[(p + 1) % 5]); munmap(at, 8192); }
        }
    void *at = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 99, 4096); int fd = open("/bin/sh", O_RDONLY); mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_DENYWRITE, fd, 4096);
    void *big = mremap(at, 16384, 32768, MREMAP_MAYMOVE); mremap(at, 1, 0, 0); mremap(big, 32768, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    madvise(at, 4096, MADV_DONTNEED); madvise(at, 4096, MADV_WILLNEED); madvise(BAD, 4096, MADV_FREE); madvise(at, 1, 99); madvise(at, 4096, MADV_HUGEPAGE); madvise(at, 4096, MADV_DONTFORK);
    msync(at, 4096, MS_SYNC); msync(at, 4096, MS_ASYNC | MS_INVALIDATE); munmap((void *)1, 4096); munmap(at, 0); mprotect(BAD, 4096, PROT_READ); syscall(SYS_brk, 0); syscall(SYS_brk, sbrk(0));
}

static void *thread(void *unused) { syscall(SYS_gettid); sched_yield(); return unused; }

static void tasks(void)
{
    int status; struct rusage usage;
    for (int how = 0; how < 3; how++) {
        pid_t child = fork();
        if (!child) { if (how == 1) _exit(3); if (how == 2) { signal(SIGUSR1, SIG_DFL); raise(SIGUSR1); } _exit(0); }
        waitpid(child, &status, 0);
    }
    pid_t child = fork(); if (!child) pause(); usleep(20000); waitpid(child, &status, WNOHANG); kill(child, SIGSTOP); waitpid(child, &status, WUNTRACED); kill(child, SIGKILL); wait4(child, &status, WUNTRACED | WCONTINUED, NULL);
    wait4(-1, &status, 0, NULL); wait4(-1, NULL, WNOHANG | __WALL, NULL); child = vfork(); if (!child) _exit(4); wait4(child, NULL, 0, NULL);
    pthread_t made; for (int i = 0; i < 2; i++) { pthread_create(&made, NULL, thread, NULL); while (pthread_tryjoin_np(made, NULL)) ; /* no call, as pthread_join makes one or not */ }
    char *words[] = {"echo", "a b", "long words are cut behind their thirty-second character", NULL}, *none[] = {NULL}, *some[] = {"A=1", "B=2", NULL};
    execve("/absent", words, some); execve("/absent", none, none); execve("/etc/passwd", words, NULL); execve("/absent", NULL, some);
    if (!(child = fork())) { execve("/bin/true", words, some); } waitpid(child, NULL, 0);
    if (!(child = fork())) { char *many[41]; for (int i = 0; i < 40; i++) many[i] = "w"; many[40] = NULL; execve("/bin/true", many, none); } waitpid(child, NULL, 0);
    getpid(); getppid(); getuid(); geteuid(); getgid(); getegid(); getpgid(0); getpgrp(); setpgid(1, 1);
    kill(getpid(), 0); kill(-99999, SIGTERM); kill(getpid(), 99); kill(getpid(), SIGWINCH); syscall(SYS_tgkill, getpid(), gettid(), SIGCHLD); syscall(SYS_tkill, gettid(), SIGURG); syscall(SYS_kill, getpid(), SIGRTMAX + 1);
    prctl(PR_SET_NAME, "strange"); prctl(PR_SET_PDEATHSIG, SIGTERM); prctl(PR_SET_PDEATHSIG, 0); prctl(PR_SET_NAME, BAD); syscall(SYS_arch_prctl, 0x3001, buf); syscall(SYS_arch_prctl, 0x1003, buf);
    struct rlimit limit; prlimit(0, RLIMIT_NOFILE, NULL, &limit); prlimit(0, RLIMIT_CORE, &limit, NULL); prlimit(0, RLIMIT_STACK, NULL, &limit); prlimit(0, 99, NULL, &limit); syscall(SYS_getrlimit, RLIMIT_NPROC, &limit); prlimit(99999999, RLIMIT_AS, NULL, &limit);
    struct rlimit odd = {100, 1024}; prlimit(0, RLIMIT_CORE, &odd, NULL); getrusage(99, &usage); struct utsname name; uname(&name); syscall(SYS_uname, BAD);
    cpu_set_t set; sched_getaffinity(0, sizeof set, &set); sched_getaffinity(0, 1, &set); sched_yield(); syscall(SYS_set_tid_address, buf); syscall(SYS_set_robust_list, buf, 24); syscall(SYS_set_robust_list, buf, 1);
    syscall(SYS_rseq, buf, 32, 0, 0x1234); syscall(SYS_rseq, buf, 0, 1, 0x53053053);
}

static void signals(void)
{
    struct sigaction act = {.sa_handler = caught}, old; int flags[] = {0, SA_RESTART, SA_SIGINFO, SA_NODEFER | SA_RESETHAND, SA_NOCLDSTOP | SA_NOCLDWAIT, SA_ONSTACK | SA_RESTART | SA_SIGINFO};
    int numbers[] = {SIGINT, SIGUSR1, SIGCHLD, SIGALRM, SIGRTMIN, SIGRTMAX, 35};
    for (int i = 0; i < 6; i++) for (int n = 0; n < 7; n++) { act.sa_flags = flags[i]; sigaction(numbers[n], &act, &old); }
    signal(SIGPIPE, SIG_IGN); signal(SIGPIPE, SIG_DFL); sigfillset(&act.sa_mask); act.sa_flags = 0; sigaction(SIGHUP, &act, NULL); sigaction(SIGHUP, NULL, &old); sigaction(SIGKILL, &act, NULL);
    sigemptyset(&act.sa_mask); sigaddset(&act.sa_mask, SIGINT); sigaddset(&act.sa_mask, SIGCHLD); sigaddset(&act.sa_mask, SIGRTMIN + 1); sigaction(SIGTERM, &act, NULL);
    sigset_t set, was; sigfillset(&set); sigprocmask(SIG_SETMASK, &set, &was); sigprocmask(SIG_SETMASK, &was, NULL); sigemptyset(&set); sigprocmask(SIG_BLOCK, &set, NULL); sigaddset(&set, SIGUSR2); sigprocmask(SIG_BLOCK, &set, &was); sigprocmask(SIG_UNBLOCK, &set, &was); sigprocmask(SIG_BLOCK, NULL, &was); sigprocmask(77, &set, NULL); syscall(SYS_rt_sigprocmask, SIG_BLOCK, BAD, NULL, 8);
    stack_t alt = {.ss_sp = buf, .ss_size = sizeof buf}; sigaltstack(&alt, NULL); sigaltstack(NULL, &alt); alt.ss_flags = SS_DISABLE; sigaltstack(&alt, NULL);
    alarm(0); struct itimerval timer = {{0, 0}, {0, 300000}}, before; setitimer(ITIMER_REAL, &timer, &before); pause(); setitimer(ITIMER_VIRTUAL, &timer, NULL); setitimer(9, &timer, NULL); timer.it_value.tv_usec = 0; setitimer(ITIMER_VIRTUAL, &timer, NULL);
    struct timespec time = {0, 1000000}, left, wrong = {0, -1}; syscall(SYS_nanosleep, &time, NULL); syscall(SYS_nanosleep, &time, &left); syscall(SYS_nanosleep, &wrong, NULL); clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL); clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL); clock_nanosleep(77, 0, &time, &left);
    timer.it_value.tv_usec = 300000; act.sa_flags = 0; sigaction(SIGALRM, &act, NULL); setitimer(ITIMER_REAL, &timer, NULL); time.tv_sec = 5; nanosleep(&time, &left);
}

static void waiting(void)
{
    int pair[2]; pipe(pair); struct pollfd polled[3] = {{pair[0], POLLIN, 0}, {pair[1], POLLOUT | POLLERR, 0}, {-1, POLLPRI, 0}};
    poll(polled, 1, 0); poll(polled, 2, 10); poll(polled, 3, 0); polled[0].fd = 99; poll(polled, 1, 5); poll(BAD, 1, 0); poll(NULL, 0, 1); write(pair[1], "x", 1); polled[0].fd = pair[0]; polled[0].events = POLLIN | POLLRDNORM | POLLRDHUP | POLLHUP; poll(polled, 2, -1);
    fd_set in, out; FD_ZERO(&in); FD_SET(pair[0], &in); FD_ZERO(&out); FD_SET(pair[1], &out); struct timeval none = {0, 0}, some = {1, 500};
    syscall(SYS_select, pair[1] + 1, &in, NULL, NULL, NULL); syscall(SYS_select, pair[1] + 1, &in, &out, NULL, &some); FD_ZERO(&in); syscall(SYS_select, 3, &in, NULL, NULL, &none); syscall(SYS_select, 0, NULL, NULL, NULL, &none); syscall(SYS_select, -1, NULL, NULL, NULL, NULL);
    int epoll = epoll_create1(EPOLL_CLOEXEC); epoll_create1(0); epoll_create1(1); struct epoll_event event = {EPOLLIN, {.u64 = 7}}, more = {EPOLLOUT | EPOLLET | EPOLLONESHOT, {.u64 = 1ULL << 40 | 5}}, events[4];
    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event); epoll_ctl(epoll, EPOLL_CTL_ADD, pair[1], &more); epoll_ctl(epoll, EPOLL_CTL_MOD, pair[0], &event); epoll_wait(epoll, events, 4, 0); epoll_ctl(epoll, EPOLL_CTL_DEL, pair[1], NULL); epoll_ctl(epoll, EPOLL_CTL_DEL, 99, &event); epoll_wait(epoll, events, 4, 10); epoll_wait(99, events, 1, 0); epoll_pwait(epoll, events, 1, 0, NULL); read(pair[0], buf, 1); epoll_wait(epoll, events, 4, 1); epoll_ctl(epoll, 9, 0, &event);
    eventfd(0, EFD_CLOEXEC); eventfd(3, EFD_NONBLOCK | EFD_SEMAPHORE); int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC); timerfd_create(77, 0); struct itimerspec when = {{0, 0}, {1, 0}}, was; timerfd_settime(timer, 0, &when, NULL); timerfd_settime(99, TFD_TIMER_ABSTIME, &when, &was);
    int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK); inotify_init1(0); inotify_add_watch(notify, ".", IN_CREATE | IN_DELETE); inotify_add_watch(notify, "absent", IN_MODIFY | IN_ONLYDIR);
    int word = 1; struct timespec soon = {0, 1000}; syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL); syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon); syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1); syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff); syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY); syscall(SYS_futex, BAD, FUTEX_WAKE_PRIVATE, 1); syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &soon, NULL, 5);
}

static void sockets(void)
{
    int one = 1, value; socklen_t size; struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP), other = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP);
    socket(AF_INET6, SOCK_STREAM, 0); socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE); socket(99, SOCK_STREAM, 0); socket(AF_INET, 99, 0); socket(AF_PACKET, SOCK_RAW, 0); socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); setsockopt(99, SOL_SOCKET, SO_KEEPALIVE, &one, 4); setsockopt(server, SOL_SOCKET, SO_RCVBUF, &one, 4); setsockopt(server, SOL_SOCKET, SO_BROADCAST, NULL, 4);
    bind(server, (void *)&to, sizeof to); size = sizeof to; getsockname(server, (void *)&to, &size); listen(server, 5); listen(99, 1); connect(client, (void *)&to, sizeof to); size = 128;
    int got = accept(server, (void *)buf, &size); int again = socket(AF_INET, SOCK_STREAM, 0); connect(again, (void *)&to, sizeof to); accept4(server, NULL, NULL, SOCK_CLOEXEC); fcntl(server, F_SETFL, O_NONBLOCK); accept4(server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); size = sizeof from; accept(server, (void *)&from, &size); accept(99, NULL, NULL);
    size = sizeof from; getpeername(client, (void *)&from, &size); getpeername(server, (void *)&from, &size); size = sizeof value; getsockopt(client, SOL_SOCKET, SO_ERROR, &value, &size); getsockopt(client, SOL_SOCKET, SO_TYPE, &value, &size); getsockopt(99, SOL_SOCKET, SO_ERROR, &value, &size); getsockopt(client, IPPROTO_TCP, TCP_NODELAY, &value, &size);
    send(client, "hello", 5, 0); send(client, "more", 4, MSG_NOSIGNAL | MSG_DONTWAIT); recv(got, buf, 5, 0); recv(got, buf, 100, MSG_PEEK); recv(got, buf, 100, 0); recv(got, buf, 100, MSG_DONTWAIT); send(99, "x", 1, 0); send(client, "a", 1, MSG_OOB | MSG_MORE);
    sendto(other, "x", 1, 0, (void *)&to, sizeof to); struct sockaddr_in mine = to; mine.sin_port = 0; bind(other, (void *)&mine, sizeof mine); size = sizeof mine; getsockname(other, (void *)&mine, &size); sendto(other, "datagram", 8, 0, (void *)&mine, sizeof mine); size = 128; recvfrom(other, buf, 100, 0, (void *)(buf + 4096), &size); recvfrom(other, buf, 100, 0, (void *)(buf + 4096), &size);
    struct iovec vec[2] = {{"abc", 3}, {"defg", 4}}; struct msghdr message = {.msg_iov = vec, .msg_iovlen = 2}; sendmsg(client, &message, 0); sendmsg(client, &message, MSG_NOSIGNAL); struct iovec in = {buf, 4}; struct msghdr into = {.msg_iov = &in, .msg_iovlen = 1}; recvmsg(got, &into, 0); recvmsg(99, &into, MSG_DONTWAIT); message.msg_name = &mine; message.msg_namelen = sizeof mine; sendmsg(other, &message, 0); into.msg_name = buf + 4096; into.msg_namelen = 128; recvmsg(other, &into, 0);
    shutdown(client, SHUT_WR); shutdown(client, SHUT_RDWR); shutdown(99, SHUT_RD); shutdown(client, 7);
    struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "here"}, abstract = {.sun_family = AF_UNIX}; memcpy(abstract.sun_path, "\0name", 5); int local = socket(AF_UNIX, SOCK_STREAM, 0); bind(local, (void *)&path, sizeof path); unlink("here"); local = socket(AF_UNIX, SOCK_STREAM, 0); connect(local, (void *)&abstract, 7); connect(local, (void *)&path, 7); connect(local, (void *)&path, 2); connect(99, (void *)&path, sizeof path); bind(local, (void *)&abstract, 2);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = in6addr_loopback, .sin6_scope_id = 3}; connect(99, (void *)&six, sizeof six); connect(99, BAD, 16); connect(99, (void *)&to, 3); struct sockaddr_nl link = {.nl_family = AF_NETLINK, .nl_groups = 17}; bind(99, (void *)&link, sizeof link); struct sockaddr none = {.sa_family = AF_UNSPEC}; connect(99, &none, sizeof none); connect(99, NULL, 0);
    int pair[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, pair); socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair); socketpair(AF_INET, SOCK_STREAM, 0, pair); size = 128; getsockname(pair[0], (void *)buf, &size); recv(pair[0], buf, 10, MSG_DONTWAIT); write(pair[0], "y", 1);
    to.sin_addr.s_addr = htonl(0x7f000001); to.sin_port = htons(1); connect(again = socket(AF_INET, SOCK_STREAM, 0), (void *)&to, sizeof to); close(got);
}

int main(int count, char **words)
{
    (void)count;
    alarm(0);
    for (words++; *words; words++) {
        if (!strcmp(*words, "files")) files();
        if (!strcmp(*words, "memory")) memory();
        if (!strcmp(*words, "tasks")) tasks();
        if (!strcmp(*words, "signals")) signals();
        if (!strcmp(*words, "waiting")) waiting();
        if (!strcmp(*words, "sockets")) sockets();
    }
    return 0;
}
