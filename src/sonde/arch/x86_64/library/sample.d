/*
 * The sample that a perf event has taken where a profile, tick, cpc or perf
 * probe fires: args[0]. Registers are those of the interrupted code.
 */

/* struct bpf_perf_event_data (include/uapi/linux/bpf_perf_event.h), x86-64. */
struct __perf_sample {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	uint64_t ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
	uint64_t sample_period;
	uint64_t addr;
	/* What stands in the kernel's struct perf_sample_data, by its names. */
	uint64_t sample_flags, dyn_size, type;
	uint32_t pid, tid;
	uint64_t time, id;
	uint32_t cpu;
	uint64_t cgroup, phys_addr, data_page_size, code_page_size;
	uint64_t weight, data_src, txn;
};

typedef struct sampleinfo {
	uint64_t period;	/* how far the event has counted since the last sample */
	uint64_t addr;		/* the address that the event is about: of a page fault, where it was */
	uint64_t ip;		/* where the code is */
	uint64_t sp, bp;
	uint64_t ax, bx, cx, dx, si, di;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t flags, cs, ss, orig_ax;
	uint64_t sample_flags;	/* which of the following are there: bits of attr.sample_type */
	uint64_t dyn_size;	/* bytes of parts of no fixed size that are to be written */
	uint64_t type;		/* attr.sample_type */
	uint32_t pid, tid;
	uint64_t time;		/* ns, as perf writes them */
	uint64_t id;		/* the event's number */
	uint32_t cpu;
	uint64_t cgroup;	/* the inode of the cgroup's directory */
	uint64_t phys_addr;	/* of addr, 0 where no memory is there */
	uint64_t data_page_size, code_page_size;	/* of the pages of addr and of ip */
	uint64_t weight, data_src, txn;	/* of hardware events alone */
	/* Those without a translation. */
	uint64_t callchain, raw, br_stack, br_stack_cntr, regs_user, regs_intr;
	uint64_t stack_user_size, stream_id, aux_size;
} sampleinfo_t;

translator sampleinfo_t < struct __perf_sample *S > {
	period = S->sample_period;
	addr = S->addr;
	ip = S->ip;
	sp = S->sp;
	bp = S->bp;
	ax = S->ax;
	bx = S->bx;
	cx = S->cx;
	dx = S->dx;
	si = S->si;
	di = S->di;
	r8 = S->r8;
	r9 = S->r9;
	r10 = S->r10;
	r11 = S->r11;
	r12 = S->r12;
	r13 = S->r13;
	r14 = S->r14;
	r15 = S->r15;
	flags = S->flags;
	cs = S->cs;
	ss = S->ss;
	orig_ax = S->orig_ax;
	sample_flags = S->sample_flags;
	dyn_size = S->dyn_size;
	type = S->type;
	pid = S->pid;
	tid = S->tid;
	time = S->time;
	id = S->id;
	cpu = S->cpu;
	cgroup = S->cgroup;
	phys_addr = S->phys_addr;
	data_page_size = S->data_page_size;
	code_page_size = S->code_page_size;
	weight = S->weight;
	data_src = S->data_src;
	txn = S->txn;
};
