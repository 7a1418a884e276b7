/*
 * Processes and threads as proc(5) of Solaris describes them, made from the kernel's task structures. What Linux does
 * not keep, or keeps where a probe cannot read it, has no translation.
 */

typedef struct timestruc {
	long tv_sec;
	long tv_nsec;
} timestruc_t;

/* Nanoseconds since 1970, or of an interval. */
translator timestruc_t < uint64_t ns > {
	tv_sec = ns / 1000000000;
	tv_nsec = ns % 1000000000;
};

typedef id_t taskid_t;
typedef id_t dprojid_t;
typedef id_t poolid_t;
typedef id_t zoneid_t;

typedef struct lwpsinfo {
	int pr_flag;			/* PR_STOPPED, PR_IDLE */
	int pr_lwpid;			/* thread id */
	uintptr_t pr_addr;		/* address of its task_struct */
	uintptr_t pr_wchan;		/* always 0 */
	char pr_stype;			/* always 0 */
	char pr_state;			/* SSLEEP ... */
	char pr_sname;			/* a letter for pr_state */
	char pr_nice;			/* -20 to 19 */
	short pr_syscall;
	char pr_oldpri;
	char pr_cpu;
	int pr_pri;			/* the kernel's priority: 0 to 99 real-time, 100 to 139 others, less is more urgent */
	ushort_t pr_pctcpu;
	ushort_t pr_pad;
	timestruc_t pr_start;		/* when it was made */
	timestruc_t pr_time;		/* how long it has run */
	char pr_clname[8];		/* TS, FF, RR, B, IDL, DLN, EXT */
	char pr_name[16];		/* the thread's name */
	processorid_t pr_onpro;		/* the CPU it is or was last on */
	processorid_t pr_bindpro;	/* always -1: Linux binds to sets of CPUs */
	psetid_t pr_bindpset;		/* always -1 */
	int pr_lgrp;
	int pr_filler[4];
} lwpsinfo_t;

typedef struct psinfo {
	int pr_flag;
	int pr_nlwp;			/* number of threads */
	pid_t pr_pid;
	pid_t pr_ppid;
	pid_t pr_pgid;
	pid_t pr_sid;
	uid_t pr_uid;
	uid_t pr_euid;
	gid_t pr_gid;
	gid_t pr_egid;
	uintptr_t pr_addr;		/* address of its task_struct */
	size_t pr_size;
	size_t pr_rssize;
	size_t pr_pad1;
	struct tty_struct *pr_ttydev;	/* controlling terminal, or -1 */
	ushort_t pr_pctcpu;
	ushort_t pr_pctmem;
	timestruc_t pr_start;		/* when it was made */
	timestruc_t pr_time;
	timestruc_t pr_ctime;		/* how long its children have run that it has waited for */
	char pr_fname[16];		/* name of the program, as execname has it */
	char pr_psargs[80];		/* the beginning of the command line */
	int pr_wstat;			/* of a process that has ended, what wait() tells */
	int pr_argc;
	uintptr_t pr_argv;		/* addresses in the process */
	uintptr_t pr_envp;
	char pr_dmodel;			/* PR_MODEL_LP64 */
	char pr_pad2[3];
	taskid_t pr_taskid;		/* 0, as the next: Linux has none of these */
	dprojid_t pr_projid;
	int pr_nzomb;
	poolid_t pr_poolid;
	zoneid_t pr_zoneid;
	id_t pr_contract;
	int pr_filler[1];
	lwpsinfo_t pr_lwp;
} psinfo_t;

inline char PR_MODEL_ILP32 = 1;
inline char PR_MODEL_LP64 = 2;

inline processorid_t PBIND_NONE = -1;
inline psetid_t PS_NONE = -1;

inline int PR_STOPPED = 0x00000001;
inline int PR_ISTOP = 0x00000002;
inline int PR_DSTOP = 0x00000004;
inline int PR_IDLE = 0x10000000;

inline char SSLEEP = 1;
inline char SRUN = 2;
inline char SZOMB = 3;
inline char SSTOP = 4;
inline char SIDL = 5;
inline char SONPROC = 6;
inline char SWAIT = 7;

/* Faults of the processor that a process is told of by a signal. */
inline int FLTILL = 1;
inline int FLTPRIV = 2;
inline int FLTBPT = 3;
inline int FLTTRACE = 4;
inline int FLTACCESS = 5;
inline int FLTBOUNDS = 6;
inline int FLTIOVF = 7;
inline int FLTIZDIV = 8;
inline int FLTFPE = 9;
inline int FLTSTACK = 10;
inline int FLTPAGE = 11;

/* Why a child's status changed (include/uapi/asm-generic/siginfo.h); CLD_EXITED to CLD_DUMPED are reasons of an end. */
inline int CLD_EXITED = 1;
inline int CLD_KILLED = 2;
inline int CLD_DUMPED = 3;
inline int CLD_TRAPPED = 4;
inline int CLD_STOPPED = 5;
inline int CLD_CONTINUED = 6;

/*
 * The state of a thread, bits of include/linux/sched.h: interruptible 1, uninterruptible 2, stopped 4, traced 8,
 * dead 0x80, wake-kill 0x100, waking 0x200; those of the end, dead 0x10 and zombie 0x20, are kept apart.
 */
inline unsigned int task_state[struct task_struct *T] = T->__state | T->exit_state;

inline int task_arguments_readable[struct task_struct *T] =
    T->mm != NULL && curthread->mm != NULL &&
    T->mm->arg_start == curthread->mm->arg_start && T->mm->arg_end == curthread->mm->arg_end;

/* The stack begins with the number of arguments, then their addresses, NULL, those of the environment, NULL. */
inline long task_argument_count[struct task_struct *T] =
    task_arguments_readable[T] ? *(long *)copyin(T->mm->start_stack, sizeof(long)) : 0;

inline uint64_t task_started[struct task_struct *T] = walltimestamp - (timestamp - T->start_time);

/* SCHED_* of include/uapi/linux/sched.h, as ps -o cls names them. */
inline string task_class[struct task_struct *T] =
    T->policy == 0 ? "TS" : T->policy == 1 ? "FF" : T->policy == 2 ? "RR" : T->policy == 3 ? "B" :
    T->policy == 5 ? "IDL" : T->policy == 6 ? "DLN" : T->policy == 7 ? "EXT" : "?";

translator psinfo_t < struct task_struct *T > {
	pr_nlwp = T->signal->nr_threads;
	pr_pid = T->tgid;
	pr_ppid = T->real_parent->tgid;
	pr_pgid = T->signal->pids[PIDTYPE_PGID]->numbers[0].nr;
	pr_sid = T->signal->pids[PIDTYPE_SID]->numbers[0].nr;
	pr_uid = T->cred->uid.val;
	pr_euid = T->cred->euid.val;
	pr_gid = T->cred->gid.val;
	pr_egid = T->cred->egid.val;
	pr_addr = (uintptr_t)T;
	pr_ttydev = T->signal->tty ? T->signal->tty : (struct tty_struct *)-1;
	pr_start = xlate <timestruc_t> (task_started[T]);
	pr_ctime = xlate <timestruc_t> ((uint64_t)(T->signal->cutime + T->signal->cstime));
	pr_fname = T->comm;
	pr_psargs = task_arguments_readable[T] ? __command_line(T->mm->arg_start, T->mm->arg_end) : stringof(T->comm);
	pr_wstat = T->exit_code;
	pr_argc = task_argument_count[T];
	pr_argv = task_arguments_readable[T] ? T->mm->start_stack + 8 : 0;
	pr_envp = task_arguments_readable[T] ? T->mm->start_stack + 8 * (task_argument_count[T] + 2) : 0;
	pr_dmodel = PR_MODEL_LP64;
	pr_taskid = 0;
	pr_projid = 0;
	pr_nzomb = 0;
	pr_poolid = 0;
	pr_zoneid = 0;
	pr_contract = 0;
	pr_lwp = xlate <lwpsinfo_t> (T);
};

translator lwpsinfo_t < struct task_struct *T > {
	pr_flag = (task_state[T] & 0x4 ? PR_STOPPED : 0) | (T->pid == 0 ? PR_IDLE : 0);
	pr_lwpid = T->pid;
	pr_addr = (uintptr_t)T;
	pr_wchan = 0;
	pr_stype = 0;
	pr_state = task_state[T] & 0x3 ? SSLEEP : task_state[T] & 0xc ? SSTOP : task_state[T] & 0xb0 ? SZOMB :
	    task_state[T] & 0x300 ? SWAIT : SRUN;
	pr_sname = task_state[T] & 0x3 ? 'S' : task_state[T] & 0xc ? 'T' : task_state[T] & 0xb0 ? 'Z' :
	    task_state[T] & 0x300 ? 'W' : 'R';
	pr_pri = T->prio;
	pr_nice = T->static_prio - 120;
	pr_start = xlate <timestruc_t> (task_started[T]);
	pr_time = xlate <timestruc_t> ((uint64_t)T->se.sum_exec_runtime);
	pr_clname = task_class[T];
	pr_name = T->comm;
	pr_onpro = T->thread_info.cpu;
	pr_bindpro = PBIND_NONE;
	pr_bindpset = PS_NONE;
};

inline psinfo_t *curpsinfo = xlate <psinfo_t *> (curthread);
inline lwpsinfo_t *curlwpsinfo = xlate <lwpsinfo_t *> (curthread);

inline string cwd = d_path(&curthread->fs->pwd);
inline string root = d_path(&curthread->fs->root);
