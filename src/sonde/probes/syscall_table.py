# ruff: noqa: E501
"""System calls by number: made by tools/make_syscall_table.py, not to be edited.

`X86_64`: number, name (of the function that implements the call, after which its trace event is called),
`=call` where the call has another name, and its arguments in parentheses where they are known.
`I386`: number, name of the call, `=call` where it takes the arguments of that 64-bit call.
"""

X86_64 = """\
0 read(unsigned int fd, char* buf, size_t count)
1 write(unsigned int fd, const char* buf, size_t count)
2 open(const char* filename, int flags, umode_t mode)
3 close(unsigned int fd)
4 newstat=stat(const char* filename, struct stat* statbuf)
5 newfstat=fstat(unsigned int fd, struct stat* statbuf)
6 newlstat=lstat(const char* filename, struct stat* statbuf)
7 poll(struct pollfd* ufds, unsigned int nfds, int timeout_msecs)
8 lseek(unsigned int fd, off_t offset, unsigned int whence)
9 mmap(unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, unsigned long fd, unsigned long off)
10 mprotect(unsigned long start, size_t len, unsigned long prot)
11 munmap(unsigned long addr, size_t len)
12 brk(unsigned long brk)
13 rt_sigaction(int sig, const struct sigaction* act, struct sigaction* oact, size_t sigsetsize)
14 rt_sigprocmask(int how, sigset_t* nset, sigset_t* oset, size_t sigsetsize)
15 rt_sigreturn()
16 ioctl(unsigned int fd, unsigned int cmd, unsigned long arg)
17 pread64(unsigned int fd, char* buf, size_t count, loff_t pos)
18 pwrite64(unsigned int fd, const char* buf, size_t count, loff_t pos)
19 readv(unsigned long fd, const struct iovec* vec, unsigned long vlen)
20 writev(unsigned long fd, const struct iovec* vec, unsigned long vlen)
21 access(const char* filename, int mode)
22 pipe(int* fildes)
23 select(int n, fd_set* inp, fd_set* outp, fd_set* exp, struct __kernel_old_timeval* tvp)
24 sched_yield()
25 mremap(unsigned long addr, unsigned long old_len, unsigned long new_len, unsigned long flags, unsigned long new_addr)
26 msync(unsigned long start, size_t len, int flags)
27 mincore(unsigned long start, size_t len, unsigned char* vec)
28 madvise(unsigned long start, size_t len_in, int behavior)
29 shmget(key_t key, size_t size, int shmflg)
30 shmat(int shmid, char* shmaddr, int shmflg)
31 shmctl(int shmid, int cmd, struct shmid_ds* buf)
32 dup(unsigned int fildes)
33 dup2(unsigned int oldfd, unsigned int newfd)
34 pause()
35 nanosleep(struct __kernel_timespec* rqtp, struct __kernel_timespec* rmtp)
36 getitimer(int which, struct __kernel_old_itimerval* value)
37 alarm(unsigned int seconds)
38 setitimer(int which, struct __kernel_old_itimerval* value, struct __kernel_old_itimerval* ovalue)
39 getpid()
40 sendfile64=sendfile(int out_fd, int in_fd, loff_t* offset, size_t count)
41 socket(int family, int type, int protocol)
42 connect(int fd, struct sockaddr* uservaddr, int addrlen)
43 accept(int fd, struct sockaddr* upeer_sockaddr, int* upeer_addrlen)
44 sendto(int fd, void* buff, size_t len, unsigned int flags, struct sockaddr* addr, int addr_len)
45 recvfrom(int fd, void* ubuf, size_t size, unsigned int flags, struct sockaddr* addr, int* addr_len)
46 sendmsg(int fd, struct user_msghdr* msg, unsigned int flags)
47 recvmsg(int fd, struct user_msghdr* msg, unsigned int flags)
48 shutdown(int fd, int how)
49 bind(int fd, struct sockaddr* umyaddr, int addrlen)
50 listen(int fd, int backlog)
51 getsockname(int fd, struct sockaddr* usockaddr, int* usockaddr_len)
52 getpeername(int fd, struct sockaddr* usockaddr, int* usockaddr_len)
53 socketpair(int family, int type, int protocol, int* usockvec)
54 setsockopt(int fd, int level, int optname, char* optval, int optlen)
55 getsockopt(int fd, int level, int optname, char* optval, int* optlen)
56 clone(unsigned long clone_flags, unsigned long newsp, int* parent_tidptr, int* child_tidptr, unsigned long tls)
57 fork()
58 vfork()
59 execve(const char* filename, const char*const* argv, const char*const* envp)
60 exit(int error_code)
61 wait4(pid_t upid, int* stat_addr, int options, struct rusage* ru)
62 kill(pid_t pid, int sig)
63 newuname=uname(struct new_utsname* name)
64 semget(key_t key, int nsems, int semflg)
65 semop(int semid, struct sembuf* tsops, unsigned nsops)
66 semctl(int semid, int semnum, int cmd, unsigned long arg)
67 shmdt(char* shmaddr)
68 msgget(key_t key, int msgflg)
69 msgsnd(int msqid, struct msgbuf* msgp, size_t msgsz, int msgflg)
70 msgrcv(int msqid, struct msgbuf* msgp, size_t msgsz, long msgtyp, int msgflg)
71 msgctl(int msqid, int cmd, struct msqid_ds* buf)
72 fcntl(unsigned int fd, unsigned int cmd, unsigned long arg)
73 flock(unsigned int fd, unsigned int cmd)
74 fsync(unsigned int fd)
75 fdatasync(unsigned int fd)
76 truncate(const char* path, long length)
77 ftruncate(unsigned int fd, off_t length)
78 getdents(unsigned int fd, struct linux_dirent* dirent, unsigned int count)
79 getcwd(char* buf, unsigned long size)
80 chdir(const char* filename)
81 fchdir(unsigned int fd)
82 rename(const char* oldname, const char* newname)
83 mkdir(const char* pathname, umode_t mode)
84 rmdir(const char* pathname)
85 creat(const char* pathname, umode_t mode)
86 link(const char* oldname, const char* newname)
87 unlink(const char* pathname)
88 symlink(const char* oldname, const char* newname)
89 readlink(const char* path, char* buf, int bufsiz)
90 chmod(const char* filename, umode_t mode)
91 fchmod(unsigned int fd, umode_t mode)
92 chown(const char* filename, uid_t user, gid_t group)
93 fchown(unsigned int fd, uid_t user, gid_t group)
94 lchown(const char* filename, uid_t user, gid_t group)
95 umask(int mask)
96 gettimeofday(struct __kernel_old_timeval* tv, struct timezone* tz)
97 getrlimit(unsigned int resource, struct rlimit* rlim)
98 getrusage(int who, struct rusage* ru)
99 sysinfo(struct sysinfo* info)
100 times(struct tms* tbuf)
101 ptrace(long request, long pid, unsigned long addr, unsigned long data)
102 getuid()
103 syslog(int type, char* buf, int len)
104 getgid()
105 setuid(uid_t uid)
106 setgid(gid_t gid)
107 geteuid()
108 getegid()
109 setpgid(pid_t pid, pid_t pgid)
110 getppid()
111 getpgrp()
112 setsid()
113 setreuid(uid_t ruid, uid_t euid)
114 setregid(gid_t rgid, gid_t egid)
115 getgroups(int gidsetsize, gid_t* grouplist)
116 setgroups(int gidsetsize, gid_t* grouplist)
117 setresuid(uid_t ruid, uid_t euid, uid_t suid)
118 getresuid(uid_t* ruidp, uid_t* euidp, uid_t* suidp)
119 setresgid(gid_t rgid, gid_t egid, gid_t sgid)
120 getresgid(gid_t* rgidp, gid_t* egidp, gid_t* sgidp)
121 getpgid(pid_t pid)
122 setfsuid(uid_t uid)
123 setfsgid(gid_t gid)
124 getsid(pid_t pid)
125 capget(cap_user_header_t header, cap_user_data_t dataptr)
126 capset(cap_user_header_t header, const cap_user_data_t data)
127 rt_sigpending(sigset_t* uset, size_t sigsetsize)
128 rt_sigtimedwait(const sigset_t* uthese, siginfo_t* uinfo, const struct __kernel_timespec* uts, size_t sigsetsize)
129 rt_sigqueueinfo(pid_t pid, int sig, siginfo_t* uinfo)
130 rt_sigsuspend(sigset_t* unewset, size_t sigsetsize)
131 sigaltstack(const stack_t* uss, stack_t* uoss)
132 utime(char* filename, struct utimbuf* times)
133 mknod(const char* filename, umode_t mode, unsigned dev)
134 uselib(const char* library)
135 personality(unsigned int personality)
136 ustat(unsigned dev, struct ustat* ubuf)
137 statfs(const char* pathname, struct statfs* buf)
138 fstatfs(unsigned int fd, struct statfs* buf)
139 sysfs(int option, unsigned long arg1, unsigned long arg2)
140 getpriority(int which, int who)
141 setpriority(int which, int who, int niceval)
142 sched_setparam(pid_t pid, struct sched_param* param)
143 sched_getparam(pid_t pid, struct sched_param* param)
144 sched_setscheduler(pid_t pid, int policy, struct sched_param* param)
145 sched_getscheduler(pid_t pid)
146 sched_get_priority_max(int policy)
147 sched_get_priority_min(int policy)
148 sched_rr_get_interval(pid_t pid, struct __kernel_timespec* interval)
149 mlock(unsigned long start, size_t len)
150 munlock(unsigned long start, size_t len)
151 mlockall(int flags)
152 munlockall()
153 vhangup()
154 modify_ldt(int func, void* ptr, unsigned long bytecount)
155 pivot_root(const char* new_root, const char* put_old)
157 prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5)
158 arch_prctl(int option, unsigned long arg2)
159 adjtimex(struct __kernel_timex* txc_p)
160 setrlimit(unsigned int resource, struct rlimit* rlim)
161 chroot(const char* filename)
162 sync()
163 acct(const char* name)
164 settimeofday(struct __kernel_old_timeval* tv, struct timezone* tz)
165 mount(char* dev_name, char* dir_name, char* type, unsigned long flags, void* data)
166 umount=umount2(char* name, int flags)
167 swapon(const char* specialfile, int swap_flags)
168 swapoff(const char* specialfile)
169 reboot(int magic1, int magic2, unsigned int cmd, void* arg)
170 sethostname(char* name, int len)
171 setdomainname(char* name, int len)
172 iopl(unsigned int level)
173 ioperm(unsigned long from, unsigned long num, int turn_on)
175 init_module(void* umod, unsigned long len, const char* uargs)
176 delete_module(const char* name_user, unsigned int flags)
179 quotactl(unsigned int cmd, const char* special, qid_t id, void* addr)
186 gettid()
187 readahead(int fd, loff_t offset, size_t count)
188 setxattr(const char* pathname, const char* name, const void* value, size_t size, int flags)
189 lsetxattr(const char* pathname, const char* name, const void* value, size_t size, int flags)
190 fsetxattr(int fd, const char* name, const void* value, size_t size, int flags)
191 getxattr(const char* pathname, const char* name, void* value, size_t size)
192 lgetxattr(const char* pathname, const char* name, void* value, size_t size)
193 fgetxattr(int fd, const char* name, void* value, size_t size)
194 listxattr(const char* pathname, char* list, size_t size)
195 llistxattr(const char* pathname, char* list, size_t size)
196 flistxattr(int fd, char* list, size_t size)
197 removexattr(const char* pathname, const char* name)
198 lremovexattr(const char* pathname, const char* name)
199 fremovexattr(int fd, const char* name)
200 tkill(pid_t pid, int sig)
201 time(__kernel_old_time_t* tloc)
202 futex(u32* uaddr, int op, u32 val, const struct __kernel_timespec* utime, u32* uaddr2, u32 val3)
203 sched_setaffinity(pid_t pid, unsigned int len, unsigned long* user_mask_ptr)
204 sched_getaffinity(pid_t pid, unsigned int len, unsigned long* user_mask_ptr)
206 io_setup(unsigned nr_events, aio_context_t* ctxp)
207 io_destroy(aio_context_t ctx)
208 io_getevents(aio_context_t ctx_id, long min_nr, long nr, struct io_event* events, struct __kernel_timespec* timeout)
209 io_submit(aio_context_t ctx_id, long nr, struct iocb** iocbpp)
210 io_cancel(aio_context_t ctx_id, struct iocb* iocb, struct io_event* result)
212 lookup_dcookie(u64 cookie64, char* buf, size_t len)
213 epoll_create(int size)
216 remap_file_pages(unsigned long start, unsigned long size, unsigned long prot, unsigned long pgoff, unsigned long flags)
217 getdents64(unsigned int fd, struct linux_dirent64* dirent, unsigned int count)
218 set_tid_address(int* tidptr)
219 restart_syscall()
220 semtimedop(int semid, struct sembuf* tsops, unsigned int nsops, const struct __kernel_timespec* timeout)
221 fadvise64(int fd, loff_t offset, size_t len, int advice)
222 timer_create(const clockid_t which_clock, struct sigevent* timer_event_spec, timer_t* created_timer_id)
223 timer_settime(timer_t timer_id, int flags, const struct __kernel_itimerspec* new_setting, struct __kernel_itimerspec* old_setting)
224 timer_gettime(timer_t timer_id, struct __kernel_itimerspec* setting)
225 timer_getoverrun(timer_t timer_id)
226 timer_delete(timer_t timer_id)
227 clock_settime(const clockid_t which_clock, const struct __kernel_timespec* tp)
228 clock_gettime(const clockid_t which_clock, struct __kernel_timespec* tp)
229 clock_getres(const clockid_t which_clock, struct __kernel_timespec* tp)
230 clock_nanosleep(const clockid_t which_clock, int flags, const struct __kernel_timespec* rqtp, struct __kernel_timespec* rmtp)
231 exit_group(int error_code)
232 epoll_wait(int epfd, struct epoll_event* events, int maxevents, int timeout)
233 epoll_ctl(int epfd, int op, int fd, struct epoll_event* event)
234 tgkill(pid_t tgid, pid_t pid, int sig)
235 utimes(char* filename, struct __kernel_old_timeval* utimes)
237 mbind(unsigned long start, unsigned long len, unsigned long mode, const unsigned long* nmask, unsigned long maxnode, unsigned int flags)
238 set_mempolicy(int mode, const unsigned long* nmask, unsigned long maxnode)
239 get_mempolicy(int* policy, unsigned long* nmask, unsigned long maxnode, unsigned long addr, unsigned long flags)
240 mq_open(const char* u_name, int oflag, umode_t mode, struct mq_attr* u_attr)
241 mq_unlink(const char* u_name)
242 mq_timedsend(mqd_t mqdes, const char* u_msg_ptr, size_t msg_len, unsigned int msg_prio, const struct __kernel_timespec* u_abs_timeout)
243 mq_timedreceive(mqd_t mqdes, char* u_msg_ptr, size_t msg_len, unsigned int* u_msg_prio, const struct __kernel_timespec* u_abs_timeout)
244 mq_notify(mqd_t mqdes, const struct sigevent* u_notification)
245 mq_getsetattr(mqd_t mqdes, const struct mq_attr* u_mqstat, struct mq_attr* u_omqstat)
246 kexec_load(unsigned long entry, unsigned long nr_segments, struct kexec_segment* segments, unsigned long flags)
247 waitid(int which, pid_t upid, struct siginfo* infop, int options, struct rusage* ru)
248 add_key(const char* _type, const char* _description, const void* _payload, size_t plen, key_serial_t ringid)
249 request_key(const char* _type, const char* _description, const char* _callout_info, key_serial_t destringid)
250 keyctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5)
251 ioprio_set(int which, int who, int ioprio)
252 ioprio_get(int which, int who)
253 inotify_init()
254 inotify_add_watch(int fd, const char* pathname, u32 mask)
255 inotify_rm_watch(int fd, __s32 wd)
256 migrate_pages(pid_t pid, unsigned long maxnode, const unsigned long* old_nodes, const unsigned long* new_nodes)
257 openat(int dfd, const char* filename, int flags, umode_t mode)
258 mkdirat(int dfd, const char* pathname, umode_t mode)
259 mknodat(int dfd, const char* filename, umode_t mode, unsigned int dev)
260 fchownat(int dfd, const char* filename, uid_t user, gid_t group, int flag)
261 futimesat(int dfd, const char* filename, struct __kernel_old_timeval* utimes)
262 newfstatat(int dfd, const char* filename, struct stat* statbuf, int flag)
263 unlinkat(int dfd, const char* pathname, int flag)
264 renameat(int olddfd, const char* oldname, int newdfd, const char* newname)
265 linkat(int olddfd, const char* oldname, int newdfd, const char* newname, int flags)
266 symlinkat(const char* oldname, int newdfd, const char* newname)
267 readlinkat(int dfd, const char* pathname, char* buf, int bufsiz)
268 fchmodat(int dfd, const char* filename, umode_t mode)
269 faccessat(int dfd, const char* filename, int mode)
270 pselect6(int n, fd_set* inp, fd_set* outp, fd_set* exp, struct __kernel_timespec* tsp, void* sig)
271 ppoll(struct pollfd* ufds, unsigned int nfds, struct __kernel_timespec* tsp, const sigset_t* sigmask, size_t sigsetsize)
272 unshare(unsigned long unshare_flags)
273 set_robust_list(struct robust_list_head* head, size_t len)
274 get_robust_list(int pid, struct robust_list_head** head_ptr, size_t* len_ptr)
275 splice(int fd_in, loff_t* off_in, int fd_out, loff_t* off_out, size_t len, unsigned int flags)
276 tee(int fdin, int fdout, size_t len, unsigned int flags)
277 sync_file_range(int fd, loff_t offset, loff_t nbytes, unsigned int flags)
278 vmsplice(int fd, const struct iovec* uiov, unsigned long nr_segs, unsigned int flags)
279 move_pages(pid_t pid, unsigned long nr_pages, const void** pages, const int* nodes, int* status, int flags)
280 utimensat(int dfd, const char* filename, struct __kernel_timespec* utimes, int flags)
281 epoll_pwait(int epfd, struct epoll_event* events, int maxevents, int timeout, const sigset_t* sigmask, size_t sigsetsize)
282 signalfd(int ufd, sigset_t* user_mask, size_t sizemask)
283 timerfd_create(int clockid, int flags)
284 eventfd(unsigned int count)
285 fallocate(int fd, int mode, loff_t offset, loff_t len)
286 timerfd_settime(int ufd, int flags, const struct __kernel_itimerspec* utmr, struct __kernel_itimerspec* otmr)
287 timerfd_gettime(int ufd, struct __kernel_itimerspec* otmr)
288 accept4(int fd, struct sockaddr* upeer_sockaddr, int* upeer_addrlen, int flags)
289 signalfd4(int ufd, sigset_t* user_mask, size_t sizemask, int flags)
290 eventfd2(unsigned int count, int flags)
291 epoll_create1(int flags)
292 dup3(unsigned int oldfd, unsigned int newfd, int flags)
293 pipe2(int* fildes, int flags)
294 inotify_init1(int flags)
295 preadv(unsigned long fd, const struct iovec* vec, unsigned long vlen, unsigned long pos_l, unsigned long pos_h)
296 pwritev(unsigned long fd, const struct iovec* vec, unsigned long vlen, unsigned long pos_l, unsigned long pos_h)
297 rt_tgsigqueueinfo(pid_t tgid, pid_t pid, int sig, siginfo_t* uinfo)
298 perf_event_open(struct perf_event_attr* attr_uptr, pid_t pid, int cpu, int group_fd, unsigned long flags)
299 recvmmsg(int fd, struct mmsghdr* mmsg, unsigned int vlen, unsigned int flags, struct __kernel_timespec* timeout)
300 fanotify_init(unsigned int flags, unsigned int event_f_flags)
301 fanotify_mark(int fanotify_fd, unsigned int flags, __u64 mask, int dfd, const char* pathname)
302 prlimit64(pid_t pid, unsigned int resource, const struct rlimit64* new_rlim, struct rlimit64* old_rlim)
303 name_to_handle_at(int dfd, const char* name, struct file_handle* handle, void* mnt_id, int flag)
304 open_by_handle_at(int mountdirfd, struct file_handle* handle, int flags)
305 clock_adjtime(const clockid_t which_clock, struct __kernel_timex* utx)
306 syncfs(int fd)
307 sendmmsg(int fd, struct mmsghdr* mmsg, unsigned int vlen, unsigned int flags)
308 setns(int fd, int flags)
309 getcpu(unsigned* cpup, unsigned* nodep, struct getcpu_cache* unused)
310 process_vm_readv(pid_t pid, const struct iovec* lvec, unsigned long liovcnt, const struct iovec* rvec, unsigned long riovcnt, unsigned long flags)
311 process_vm_writev(pid_t pid, const struct iovec* lvec, unsigned long liovcnt, const struct iovec* rvec, unsigned long riovcnt, unsigned long flags)
312 kcmp(pid_t pid1, pid_t pid2, int type, unsigned long idx1, unsigned long idx2)
313 finit_module(int fd, const char* uargs, int flags)
314 sched_setattr(pid_t pid, struct sched_attr* uattr, unsigned int flags)
315 sched_getattr(pid_t pid, struct sched_attr* uattr, unsigned int usize, unsigned int flags)
316 renameat2(int olddfd, const char* oldname, int newdfd, const char* newname, unsigned int flags)
317 seccomp(unsigned int op, unsigned int flags, void* uargs)
318 getrandom(char* ubuf, size_t len, unsigned int flags)
319 memfd_create(const char* uname, unsigned int flags)
320 kexec_file_load(int kernel_fd, int initrd_fd, unsigned long cmdline_len, const char* cmdline_ptr, unsigned long flags)
321 bpf(int cmd, union bpf_attr* uattr, unsigned int size)
322 execveat(int fd, const char* filename, const char*const* argv, const char*const* envp, int flags)
323 userfaultfd(int flags)
324 membarrier(int cmd, unsigned int flags, int cpu_id)
325 mlock2(unsigned long start, size_t len, int flags)
326 copy_file_range(int fd_in, loff_t* off_in, int fd_out, loff_t* off_out, size_t len, unsigned int flags)
327 preadv2(unsigned long fd, const struct iovec* vec, unsigned long vlen, unsigned long pos_l, unsigned long pos_h, rwf_t flags)
328 pwritev2(unsigned long fd, const struct iovec* vec, unsigned long vlen, unsigned long pos_l, unsigned long pos_h, rwf_t flags)
329 pkey_mprotect(unsigned long start, size_t len, unsigned long prot, int pkey)
330 pkey_alloc(unsigned long flags, unsigned long init_val)
331 pkey_free(int pkey)
332 statx(int dfd, const char* filename, unsigned flags, unsigned int mask, struct statx* buffer)
333 io_pgetevents(aio_context_t ctx_id, long min_nr, long nr, struct io_event* events, struct __kernel_timespec* timeout, const struct __aio_sigset* usig)
334 rseq(struct rseq* rseq, u32 rseq_len, int flags, u32 sig)
335 uretprobe()
336 uprobe()
424 pidfd_send_signal(int pidfd, int sig, siginfo_t* info, unsigned int flags)
425 io_uring_setup(u32 entries, struct io_uring_params* params)
426 io_uring_enter(unsigned int fd, u32 to_submit, u32 min_complete, u32 flags, const void* argp, size_t argsz)
427 io_uring_register(unsigned int fd, unsigned int opcode, void* arg, unsigned int nr_args)
428 open_tree(int dfd, const char* filename, unsigned flags)
429 move_mount(int from_dfd, const char* from_pathname, int to_dfd, const char* to_pathname, unsigned int flags)
430 fsopen(const char* _fs_name, unsigned int flags)
431 fsconfig(int fd, unsigned int cmd, const char* _key, const void* _value, int aux)
432 fsmount(int fs_fd, unsigned int flags, unsigned int attr_flags)
433 fspick(int dfd, const char* path, unsigned int flags)
434 pidfd_open(pid_t pid, unsigned int flags)
435 clone3(struct clone_args* uargs, size_t size)
436 close_range(unsigned int fd, unsigned int max_fd, unsigned int flags)
437 openat2(int dfd, const char* filename, struct open_how* how, size_t usize)
438 pidfd_getfd(int pidfd, int fd, unsigned int flags)
439 faccessat2(int dfd, const char* filename, int mode, int flags)
440 process_madvise(int pidfd, const struct iovec* vec, size_t vlen, int behavior, unsigned int flags)
441 epoll_pwait2(int epfd, struct epoll_event* events, int maxevents, const struct __kernel_timespec* timeout, const sigset_t* sigmask, size_t sigsetsize)
442 mount_setattr(int dfd, const char* path, unsigned int flags, struct mount_attr* uattr, size_t usize)
443 quotactl_fd(unsigned int fd, unsigned int cmd, qid_t id, void* addr)
444 landlock_create_ruleset(const struct landlock_ruleset_attr*const attr, const size_t size, const __u32 flags)
445 landlock_add_rule(const int ruleset_fd, const enum landlock_rule_type rule_type, const void*const rule_attr, const __u32 flags)
446 landlock_restrict_self(const int ruleset_fd, const __u32 flags)
447 memfd_secret(unsigned int flags)
448 process_mrelease(int pidfd, unsigned int flags)
449 futex_waitv(struct futex_waitv* waiters, unsigned int nr_futexes, unsigned int flags, struct __kernel_timespec* timeout, clockid_t clockid)
450 set_mempolicy_home_node(unsigned long start, unsigned long len, unsigned long home_node, unsigned long flags)
451 cachestat(unsigned int fd, struct cachestat_range* cstat_range, struct cachestat* cstat, unsigned int flags)
452 fchmodat2(int dfd, const char* filename, umode_t mode, unsigned int flags)
453 map_shadow_stack(unsigned long addr, unsigned long size, unsigned int flags)
454 futex_wake(void* uaddr, unsigned long mask, int nr, unsigned int flags)
455 futex_wait(void* uaddr, unsigned long val, unsigned long mask, unsigned int flags, struct __kernel_timespec* timeout, clockid_t clockid)
456 futex_requeue(struct futex_waitv* waiters, unsigned int flags, int nr_wake, int nr_requeue)
457 statmount(const struct mnt_id_req* req, struct statmount* buf, size_t bufsize, unsigned int flags)
458 listmount(const struct mnt_id_req* req, u64* mnt_ids, size_t nr_mnt_ids, unsigned int flags)
459 lsm_get_self_attr(unsigned int attr, struct lsm_ctx* ctx, u32* size, u32 flags)
460 lsm_set_self_attr(unsigned int attr, struct lsm_ctx* ctx, u32 size, u32 flags)
461 lsm_list_modules(u64* ids, u32* size, u32 flags)
462 mseal(unsigned long start, size_t len, unsigned long flags)
463 setxattrat(int dfd, const char* pathname, unsigned int at_flags, const char* name, const struct xattr_args* uargs, size_t usize)
464 getxattrat(int dfd, const char* pathname, unsigned int at_flags, const char* name, struct xattr_args* uargs, size_t usize)
465 listxattrat(int dfd, const char* pathname, unsigned int at_flags, char* list, size_t size)
466 removexattrat(int dfd, const char* pathname, unsigned int at_flags, const char* name)
467 open_tree_attr(int dfd, const char* filename, unsigned flags, struct mount_attr* uattr, size_t usize)
468 file_getattr(int dfd, const char* filename, struct file_attr* ufattr, size_t usize, unsigned int at_flags)
469 file_setattr(int dfd, const char* filename, struct file_attr* ufattr, size_t usize, unsigned int at_flags)
"""

I386 = """\
0 restart_syscall=restart_syscall
1 exit=exit
2 fork=fork
3 read=read
4 write=write
5 open=open
6 close=close
7 waitpid
8 creat=creat
9 link=link
10 unlink=unlink
11 execve=execve
12 chdir=chdir
13 time=time
14 mknod=mknod
15 chmod=chmod
16 lchown
18 oldstat
19 lseek=lseek
20 getpid=getpid
21 mount=mount
22 umount
23 setuid
24 getuid
25 stime
26 ptrace=ptrace
27 alarm=alarm
28 oldfstat
29 pause=pause
30 utime=utime
33 access=access
34 nice
36 sync=sync
37 kill=kill
38 rename=rename
39 mkdir=mkdir
40 rmdir=rmdir
41 dup=dup
42 pipe=pipe
43 times=times
45 brk=brk
46 setgid
47 getgid
48 signal
49 geteuid
50 getegid
51 acct=acct
52 umount2=umount2
54 ioctl=ioctl
55 fcntl=fcntl
57 setpgid=setpgid
59 oldolduname
60 umask=umask
61 chroot=chroot
62 ustat=ustat
63 dup2=dup2
64 getppid=getppid
65 getpgrp=getpgrp
66 setsid=setsid
67 sigaction
68 sgetmask
69 ssetmask
70 setreuid
71 setregid
72 sigsuspend
73 sigpending
74 sethostname=sethostname
75 setrlimit=setrlimit
76 getrlimit=getrlimit
77 getrusage=getrusage
78 gettimeofday=gettimeofday
79 settimeofday=settimeofday
80 getgroups
81 setgroups
82 select
83 symlink=symlink
84 oldlstat
85 readlink=readlink
86 uselib=uselib
87 swapon=swapon
88 reboot=reboot
89 readdir
90 mmap
91 munmap=munmap
92 truncate=truncate
93 ftruncate=ftruncate
94 fchmod=fchmod
95 fchown
96 getpriority=getpriority
97 setpriority=setpriority
99 statfs=statfs
100 fstatfs=fstatfs
101 ioperm=ioperm
102 socketcall
103 syslog=syslog
104 setitimer=setitimer
105 getitimer=getitimer
106 stat=stat
107 lstat=lstat
108 fstat=fstat
109 olduname
110 iopl=iopl
111 vhangup=vhangup
113 vm86old
114 wait4=wait4
115 swapoff=swapoff
116 sysinfo=sysinfo
117 ipc
118 fsync=fsync
119 sigreturn
120 clone
121 setdomainname=setdomainname
122 uname=uname
123 modify_ldt=modify_ldt
124 adjtimex=adjtimex
125 mprotect=mprotect
126 sigprocmask
128 init_module=init_module
129 delete_module=delete_module
131 quotactl=quotactl
132 getpgid=getpgid
133 fchdir=fchdir
135 sysfs=sysfs
136 personality=personality
138 setfsuid
139 setfsgid
140 _llseek
141 getdents=getdents
142 _newselect=select
143 flock=flock
144 msync=msync
145 readv=readv
146 writev=writev
147 getsid=getsid
148 fdatasync=fdatasync
150 mlock=mlock
151 munlock=munlock
152 mlockall=mlockall
153 munlockall=munlockall
154 sched_setparam=sched_setparam
155 sched_getparam=sched_getparam
156 sched_setscheduler=sched_setscheduler
157 sched_getscheduler=sched_getscheduler
158 sched_yield=sched_yield
159 sched_get_priority_max=sched_get_priority_max
160 sched_get_priority_min=sched_get_priority_min
161 sched_rr_get_interval=sched_rr_get_interval
162 nanosleep=nanosleep
163 mremap=mremap
164 setresuid
165 getresuid
166 vm86
168 poll=poll
170 setresgid
171 getresgid
172 prctl=prctl
173 rt_sigreturn=rt_sigreturn
174 rt_sigaction=rt_sigaction
175 rt_sigprocmask=rt_sigprocmask
176 rt_sigpending=rt_sigpending
177 rt_sigtimedwait=rt_sigtimedwait
178 rt_sigqueueinfo=rt_sigqueueinfo
179 rt_sigsuspend=rt_sigsuspend
180 pread64
181 pwrite64
182 chown
183 getcwd=getcwd
184 capget=capget
185 capset=capset
186 sigaltstack=sigaltstack
187 sendfile
190 vfork=vfork
191 ugetrlimit
192 mmap2
193 truncate64
194 ftruncate64
195 stat64=stat
196 lstat64=lstat
197 fstat64=fstat
198 lchown32=lchown
199 getuid32=getuid
200 getgid32=getgid
201 geteuid32=geteuid
202 getegid32=getegid
203 setreuid32=setreuid
204 setregid32=setregid
205 getgroups32=getgroups
206 setgroups32=setgroups
207 fchown32=fchown
208 setresuid32=setresuid
209 getresuid32=getresuid
210 setresgid32=setresgid
211 getresgid32=getresgid
212 chown32=chown
213 setuid32=setuid
214 setgid32=setgid
215 setfsuid32=setfsuid
216 setfsgid32=setfsgid
217 pivot_root=pivot_root
218 mincore=mincore
219 madvise=madvise
220 getdents64=getdents64
221 fcntl64=fcntl
224 gettid=gettid
225 readahead
226 setxattr=setxattr
227 lsetxattr=lsetxattr
228 fsetxattr=fsetxattr
229 getxattr=getxattr
230 lgetxattr=lgetxattr
231 fgetxattr=fgetxattr
232 listxattr=listxattr
233 llistxattr=llistxattr
234 flistxattr=flistxattr
235 removexattr=removexattr
236 lremovexattr=lremovexattr
237 fremovexattr=fremovexattr
238 tkill=tkill
239 sendfile64=sendfile
240 futex=futex
241 sched_setaffinity=sched_setaffinity
242 sched_getaffinity=sched_getaffinity
243 set_thread_area
244 get_thread_area
245 io_setup=io_setup
246 io_destroy=io_destroy
247 io_getevents=io_getevents
248 io_submit=io_submit
249 io_cancel=io_cancel
250 fadvise64
252 exit_group=exit_group
253 lookup_dcookie
254 epoll_create=epoll_create
255 epoll_ctl=epoll_ctl
256 epoll_wait=epoll_wait
257 remap_file_pages=remap_file_pages
258 set_tid_address=set_tid_address
259 timer_create=timer_create
260 timer_settime=timer_settime
261 timer_gettime=timer_gettime
262 timer_getoverrun=timer_getoverrun
263 timer_delete=timer_delete
264 clock_settime=clock_settime
265 clock_gettime=clock_gettime
266 clock_getres=clock_getres
267 clock_nanosleep=clock_nanosleep
268 statfs64
269 fstatfs64
270 tgkill=tgkill
271 utimes=utimes
272 fadvise64_64
274 mbind=mbind
275 get_mempolicy=get_mempolicy
276 set_mempolicy=set_mempolicy
277 mq_open=mq_open
278 mq_unlink=mq_unlink
279 mq_timedsend=mq_timedsend
280 mq_timedreceive=mq_timedreceive
281 mq_notify=mq_notify
282 mq_getsetattr=mq_getsetattr
283 kexec_load=kexec_load
284 waitid=waitid
286 add_key=add_key
287 request_key=request_key
288 keyctl=keyctl
289 ioprio_set=ioprio_set
290 ioprio_get=ioprio_get
291 inotify_init=inotify_init
292 inotify_add_watch=inotify_add_watch
293 inotify_rm_watch=inotify_rm_watch
294 migrate_pages=migrate_pages
295 openat=openat
296 mkdirat=mkdirat
297 mknodat=mknodat
298 fchownat=fchownat
299 futimesat=futimesat
300 fstatat64
301 unlinkat=unlinkat
302 renameat=renameat
303 linkat=linkat
304 symlinkat=symlinkat
305 readlinkat=readlinkat
306 fchmodat=fchmodat
307 faccessat=faccessat
308 pselect6=pselect6
309 ppoll=ppoll
310 unshare=unshare
311 set_robust_list=set_robust_list
312 get_robust_list=get_robust_list
313 splice=splice
314 sync_file_range
315 tee=tee
316 vmsplice=vmsplice
317 move_pages=move_pages
318 getcpu=getcpu
319 epoll_pwait=epoll_pwait
320 utimensat=utimensat
321 signalfd=signalfd
322 timerfd_create=timerfd_create
323 eventfd=eventfd
324 fallocate
325 timerfd_settime=timerfd_settime
326 timerfd_gettime=timerfd_gettime
327 signalfd4=signalfd4
328 eventfd2=eventfd2
329 epoll_create1=epoll_create1
330 dup3=dup3
331 pipe2=pipe2
332 inotify_init1=inotify_init1
333 preadv=preadv
334 pwritev=pwritev
335 rt_tgsigqueueinfo=rt_tgsigqueueinfo
336 perf_event_open=perf_event_open
337 recvmmsg=recvmmsg
338 fanotify_init=fanotify_init
339 fanotify_mark
340 prlimit64=prlimit64
341 name_to_handle_at=name_to_handle_at
342 open_by_handle_at=open_by_handle_at
343 clock_adjtime=clock_adjtime
344 syncfs=syncfs
345 sendmmsg=sendmmsg
346 setns=setns
347 process_vm_readv=process_vm_readv
348 process_vm_writev=process_vm_writev
349 kcmp=kcmp
350 finit_module=finit_module
351 sched_setattr=sched_setattr
352 sched_getattr=sched_getattr
353 renameat2=renameat2
354 seccomp=seccomp
355 getrandom=getrandom
356 memfd_create=memfd_create
357 bpf=bpf
358 execveat=execveat
359 socket=socket
360 socketpair=socketpair
361 bind=bind
362 connect=connect
363 listen=listen
364 accept4=accept4
365 getsockopt=getsockopt
366 setsockopt=setsockopt
367 getsockname=getsockname
368 getpeername=getpeername
369 sendto=sendto
370 sendmsg=sendmsg
371 recvfrom=recvfrom
372 recvmsg=recvmsg
373 shutdown=shutdown
374 userfaultfd=userfaultfd
375 membarrier=membarrier
376 mlock2=mlock2
377 copy_file_range=copy_file_range
378 preadv2=preadv2
379 pwritev2=pwritev2
380 pkey_mprotect=pkey_mprotect
381 pkey_alloc=pkey_alloc
382 pkey_free=pkey_free
383 statx=statx
384 arch_prctl=arch_prctl
385 io_pgetevents=io_pgetevents
386 rseq=rseq
393 semget=semget
394 semctl=semctl
395 shmget=shmget
396 shmctl=shmctl
397 shmat=shmat
398 shmdt=shmdt
399 msgget=msgget
400 msgsnd=msgsnd
401 msgrcv=msgrcv
402 msgctl=msgctl
403 clock_gettime64=clock_gettime
404 clock_settime64=clock_settime
405 clock_adjtime64=clock_adjtime
406 clock_getres_time64=clock_getres
407 clock_nanosleep_time64=clock_nanosleep
408 timer_gettime64=timer_gettime
409 timer_settime64=timer_settime
410 timerfd_gettime64=timerfd_gettime
411 timerfd_settime64=timerfd_settime
412 utimensat_time64=utimensat
413 pselect6_time64=pselect6
414 ppoll_time64=ppoll
416 io_pgetevents_time64=io_pgetevents
417 recvmmsg_time64=recvmmsg
418 mq_timedsend_time64=mq_timedsend
419 mq_timedreceive_time64=mq_timedreceive
420 semtimedop_time64=semtimedop
421 rt_sigtimedwait_time64=rt_sigtimedwait
422 futex_time64=futex
423 sched_rr_get_interval_time64=sched_rr_get_interval
424 pidfd_send_signal=pidfd_send_signal
425 io_uring_setup=io_uring_setup
426 io_uring_enter=io_uring_enter
427 io_uring_register=io_uring_register
428 open_tree=open_tree
429 move_mount=move_mount
430 fsopen=fsopen
431 fsconfig=fsconfig
432 fsmount=fsmount
433 fspick=fspick
434 pidfd_open=pidfd_open
435 clone3=clone3
436 close_range=close_range
437 openat2=openat2
438 pidfd_getfd=pidfd_getfd
439 faccessat2=faccessat2
440 process_madvise=process_madvise
441 epoll_pwait2=epoll_pwait2
442 mount_setattr=mount_setattr
443 quotactl_fd=quotactl_fd
444 landlock_create_ruleset=landlock_create_ruleset
445 landlock_add_rule=landlock_add_rule
446 landlock_restrict_self=landlock_restrict_self
447 memfd_secret=memfd_secret
448 process_mrelease=process_mrelease
449 futex_waitv=futex_waitv
450 set_mempolicy_home_node=set_mempolicy_home_node
451 cachestat=cachestat
452 fchmodat2=fchmodat2
453 map_shadow_stack=map_shadow_stack
454 futex_wake=futex_wake
455 futex_wait=futex_wait
456 futex_requeue=futex_requeue
457 statmount=statmount
458 listmount=listmount
459 lsm_get_self_attr=lsm_get_self_attr
460 lsm_set_self_attr=lsm_set_self_attr
461 lsm_list_modules=lsm_list_modules
462 mseal=mseal
463 setxattrat=setxattrat
464 getxattrat=getxattrat
465 listxattrat=listxattrat
466 removexattrat=removexattrat
467 open_tree_attr=open_tree_attr
468 file_getattr=file_getattr
469 file_setattr=file_setattr
"""
