/* Calls that wait, or move many bytes, made again and again in a thread of a process of its own: how often each did not
   do what it does where nobody traces. "calls SECONDS [NAMES]" gives each call so long, and those of the words alone;
   the status is 1 if any was wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static volatile unsigned long sink;
static void burn(void) { for (int i = 0; i < 20000; i++) sink += i; }
struct kind { const char *name; long (*run)(struct kind *); long calls, wrong; int e; };
#define WANT(cond) do { errno = 0; if (!(cond)) { k->wrong++; if (errno) k->e = errno; } k->calls++; burn(); } while (0)
#define LOOP while (!over)
static struct timespec const ms = {0, 1000000}, us = {0, 100000};

static long naps(struct kind *k) { LOOP WANT(nanosleep(&us, 0) == 0); return 0; }
static long polls(struct kind *k) { int p[2]; pipe(p); struct pollfd f = {p[0], POLLIN}; LOOP WANT(poll(&f, 1, 1) == 0); return 0; }
static long ppolls(struct kind *k) { int p[2]; pipe(p); struct pollfd f = {p[0], POLLIN}; sigset_t s; sigemptyset(&s); LOOP WANT(ppoll(&f, 1, &us, &s) == 0); return 0; }
static long selects(struct kind *k) { LOOP { struct timeval t = {0, 300}; WANT(select(0, 0, 0, 0, &t) == 0); } return 0; }
static long epolls(struct kind *k) { int e = epoll_create1(0); struct epoll_event v; LOOP WANT(epoll_wait(e, &v, 1, 1) == 0); return 0; }
static long epwait2s(struct kind *k) { int e = epoll_create1(0); struct epoll_event v; LOOP WANT(syscall(SYS_epoll_pwait2, e, &v, 1, &us, 0, 8) == 0); return 0; }
static void *feeder(void *a) { int fd = (long)a; char c = 1; LOOP { if (write(fd, &c, 1) < 0) break; burn(); } return 0; }
static long reads(struct kind *k) { int p[2]; pipe(p); pthread_t t; pthread_create(&t, 0, feeder, (void *)(long)p[1]); char c; LOOP WANT(read(p[0], &c, 1) == 1); return 0; }
static void *drain(void *a) { int fd = (long)a; char *b = malloc(1 << 20); while (read(fd, b, 1 << 16) > 0) ; return 0; }
static long writes(struct kind *k) { int p[2]; pipe(p); pthread_t t; pthread_create(&t, 0, drain, (void *)(long)p[0]); char *b = calloc(1, 1 << 20); LOOP WANT(write(p[1], b, 1 << 20) == 1 << 20); return 0; }
static long writevs(struct kind *k) { int p[2]; pipe(p); pthread_t t; pthread_create(&t, 0, drain, (void *)(long)p[0]); char *b = calloc(1, 1 << 20); struct iovec v[3] = {{b, 300000}, {b, 10}, {b, 400000}}; LOOP WANT(writev(p[1], v, 3) == 700010); return 0; }
static long sends(struct kind *k) { int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); pthread_t t; pthread_create(&t, 0, drain, (void *)(long)p[0]); char *b = calloc(1, 1 << 20); LOOP WANT(send(p[1], b, 1 << 20, 0) == 1 << 20); return 0; }
static long sendmsgs(struct kind *k) { int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); pthread_t t; pthread_create(&t, 0, drain, (void *)(long)p[0]); char *b = calloc(1, 1 << 20); struct iovec v[2] = {{b, 300000}, {b, 400000}}; struct msghdr m = {.msg_iov = v, .msg_iovlen = 2}; LOOP WANT(sendmsg(p[1], &m, 0) == 700000); return 0; }
static void *flood(void *a) { int fd = (long)a; char *b = calloc(1, 1 << 20); LOOP if (write(fd, b, 1000) < 0) break; return 0; }
static long waitalls(struct kind *k) { int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); pthread_t t; pthread_create(&t, 0, flood, (void *)(long)p[0]); char *b = malloc(1 << 20); LOOP WANT(recv(p[1], b, 1 << 18, MSG_WAITALL) == 1 << 18); return 0; }
static long sendfiles(struct kind *k) { int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); pthread_t t; pthread_create(&t, 0, drain, (void *)(long)p[0]); int f = memfd_create("x", 0); ftruncate(f, 4 << 20); LOOP { off_t o = 0; WANT(sendfile(p[1], f, &o, 1 << 20) == 1 << 20 && o == 1 << 20); } return 0; }
static long randoms(struct kind *k) { char *b = malloc(1 << 22); LOOP WANT(getrandom(b, 1 << 22, 0) == 1 << 22); return 0; }
static long zeros(struct kind *k) { int f = open("/dev/zero", O_RDONLY); char *b = malloc(1 << 24); LOOP WANT(read(f, b, 1 << 24) == 1 << 24); return 0; }
static long zerovs(struct kind *k) { int f = open("/dev/zero", O_RDONLY); char *b = malloc(1 << 24); struct iovec v[3] = {{b, 1 << 22}, {b, 10}, {b, 1 << 23}}; LOOP { WANT(readv(f, v, 3) == (3 << 22) + 10); WANT(preadv(f, v, 3, 5) == (3 << 22) + 10); WANT(pread(f, b, 1 << 23, 5) == 1 << 23); } return 0; }
static struct iovec vector[4];
static char kept[sizeof vector];
static void *shares(void *a) { long r = writev((long)a, vector, 4); (void)r; return 0; }
static void *writer(void *a) { LOOP shares(a); return 0; }
static long shareds(struct kind *k) { int p[2]; pipe(p); pthread_t t; pthread_create(&t, 0, drain, (void *)(long)p[0]); char *b = calloc(1, 1 << 20); for (int i = 0; i < 4; i++) vector[i] = (struct iovec){b, 1 << 18}; memcpy(kept, vector, sizeof kept); pthread_create(&t, 0, writer, (void *)(long)p[1]); LOOP { WANT(writev(p[1], vector, 4) == 1 << 20); WANT(!memcmp(vector, kept, sizeof kept)); } return 0; }
static long urandoms(struct kind *k) { int f = open("/dev/urandom", O_RDONLY); char *b = malloc(1 << 22); LOOP WANT(read(f, b, 1 << 22) == 1 << 22); return 0; }
static long allocates(struct kind *k) { int f = memfd_create("y", 0); LOOP { WANT(posix_fallocate(f, 0, 64 << 20) == 0); ftruncate(f, 0); } return 0; }
static void *waker(void *a) { int *w = a; LOOP { __atomic_fetch_add(w, 1, __ATOMIC_SEQ_CST); syscall(SYS_futex, w, FUTEX_WAKE, 1, 0, 0, 0); burn(); burn(); } return 0; }
static long futexes(struct kind *k) { int w = 0; pthread_t t; pthread_create(&t, 0, waker, &w); LOOP { int v = w; WANT(syscall(SYS_futex, &w, FUTEX_WAIT, v, &ms, 0, 0) == 0 || errno == EAGAIN || errno == ETIMEDOUT); } return 0; }
static void *poster(void *a) { int id = (long)a; struct sembuf b = {0, 1, 0}; LOOP { if (semop(id, &b, 1) < 0 && errno != EINTR) break; burn(); } return 0; }
static long sems(struct kind *k) { int id = semget(IPC_PRIVATE, 1, 0600); pthread_t t; pthread_create(&t, 0, poster, (void *)(long)id); struct sembuf b = {0, -1, 0}; LOOP WANT(semop(id, &b, 1) == 0); semctl(id, 0, IPC_RMID); return 0; }
static long semtimes(struct kind *k) { int id = semget(IPC_PRIVATE, 1, 0600); struct sembuf b = {0, -1, 0}; LOOP WANT(semtimedop(id, &b, 1, &us) == -1 && errno == EAGAIN); semctl(id, 0, IPC_RMID); return 0; }
static void *sender(void *a) { int id = (long)a; struct { long t; char c[8]; } m = {1}; LOOP { if (msgsnd(id, &m, 8, 0) < 0) break; burn(); } return 0; }
static long msgs(struct kind *k) { int id = msgget(IPC_PRIVATE, 0600); pthread_t t; pthread_create(&t, 0, sender, (void *)(long)id); struct { long t; char c[8]; } m; LOOP WANT(msgrcv(id, &m, 8, 0, 0) == 8); msgctl(id, IPC_RMID, 0); return 0; }
static long sigwaits(struct kind *k) { sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); sigprocmask(SIG_BLOCK, &s, 0); LOOP WANT(sigtimedwait(&s, 0, &us) == -1 && errno == EAGAIN); return 0; }
static void *caller(void *a) { int l = (long)a; struct sockaddr_storage n; socklen_t z = sizeof n; getsockname(l, (void *)&n, &z); LOOP { int s = socket(n.ss_family, SOCK_STREAM, 0); if (connect(s, (void *)&n, z) < 0) sink++; burn(); close(s); } return 0; }
static int listener(void) { int l = socket(AF_INET, SOCK_STREAM, 0); struct sockaddr_storage n = {.ss_family = AF_INET}; bind(l, (void *)&n, 16); listen(l, 5); return l; }
static long accepts(struct kind *k) { int l = listener(); pthread_t t; pthread_create(&t, 0, caller, (void *)(long)l); LOOP { int s = accept(l, 0, 0); WANT(s >= 0); close(s); } return 0; }
static long accepttimes(struct kind *k) { int l = listener(); struct timeval v = {0, 2000}; setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &v, sizeof v); LOOP WANT(accept(l, 0, 0) < 0 && errno == EAGAIN); return 0; }
static void *server(void *a) { int l = (long)a; LOOP { close(accept(l, 0, 0)); burn(); } return 0; }
static long connects(struct kind *k) { int l = listener(); pthread_t t; pthread_create(&t, 0, server, (void *)(long)l); struct sockaddr_storage n; socklen_t z = sizeof n; getsockname(l, (void *)&n, &z); LOOP { int s = socket(AF_INET, SOCK_STREAM, 0); struct linger g = {1, 0}; setsockopt(s, SOL_SOCKET, SO_LINGER, &g, sizeof g); WANT(connect(s, (void *)&n, z) == 0); close(s); } return 0; }
static long recvtimes(struct kind *k) { int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); struct timeval v = {0, 2000}; setsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &v, sizeof v); char c; LOOP WANT(recv(p[0], &c, 1, 0) < 0 && errno == EAGAIN); return 0; }
static long getevents(struct kind *k) { aio_context_t c = 0; syscall(SYS_io_setup, 8, &c); struct io_event v; LOOP WANT(syscall(SYS_io_getevents, c, 1L, 1L, &v, &us) == 0); return 0; }
static long timerfds(struct kind *k) { int f = timerfd_create(CLOCK_MONOTONIC, 0); struct itimerspec t = {{0, 500000}, {0, 500000}}; timerfd_settime(f, 0, &t, 0); long n; LOOP WANT(read(f, &n, 8) == 8); return 0; }
static void *adder(void *a) { int f = (long)a; LOOP { eventfd_write(f, 1); burn(); } return 0; }
static long eventfds(struct kind *k) { int f = eventfd(0, 0); pthread_t t; pthread_create(&t, 0, adder, (void *)(long)f); eventfd_t n; LOOP WANT(eventfd_read(f, &n) == 0); return 0; }
static long forks(struct kind *k) { LOOP { int p = fork(); if (p == 0) _exit(3); int s; WANT(p > 0 && waitpid(p, &s, 0) == p && WEXITSTATUS(s) == 3); } return 0; }
static long locks(struct kind *k) { char n[] = "/tmp/lockXXXXXX"; int f = mkstemp(n); int g = open(n, O_RDWR); unlink(n); struct flock w = {.l_type = F_WRLCK}, u = {.l_type = F_UNLCK}; (void)g; LOOP { WANT(fcntl(f, F_OFD_SETLKW, &w) == 0); fcntl(f, F_OFD_SETLK, &u); } return 0; }
static long plain(struct kind *k) { LOOP WANT(getppid() > 0); return 0; }

#define K(x) {#x, x}
static struct kind kinds[] = {K(naps), K(polls), K(ppolls), K(selects), K(epolls), K(epwait2s), K(reads), K(writes), K(writevs), K(sends), K(sendmsgs), K(waitalls), K(sendfiles), K(randoms), K(zeros), K(zerovs), K(shareds), K(urandoms), K(allocates), K(futexes), K(sems), K(semtimes), K(msgs), K(sigwaits), K(accepts), K(accepttimes), K(connects), K(recvtimes), K(getevents), K(timerfds), K(eventfds), K(forks), K(locks), K(plain)};

int main(int n, char **a)
{
	signal(SIGPIPE, SIG_IGN);
	double seconds = atof(a[1]);
	int wrong = 0;
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (n > 2 && !strstr(a[2], kinds[i].name)) continue;
		fflush(stdout);
		int p = fork();
		if (p == 0) {
			pthread_t t;
			over = 0;
			pthread_create(&t, 0, (void *(*)(void *))kinds[i].run, &kinds[i]);
			struct timespec w = {(long)seconds, (seconds - (long)seconds) * 1e9};
			while (nanosleep(&w, &w)) ;
			over = 1;
			w.tv_sec = 0; w.tv_nsec = 20000000; nanosleep(&w, 0);
			printf("%-12s calls %7ld wrong %5ld %s\n", kinds[i].name, kinds[i].calls, kinds[i].wrong, kinds[i].wrong ? strerror(kinds[i].e) : "");
			fflush(stdout);
			_exit(kinds[i].wrong != 0);
		}
		int s; while (waitpid(p, &s, 0) < 0) ;
		wrong += s != 0;
	}
	printf("%d kinds wrong\n", wrong);
	return wrong != 0;
}
