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
};

typedef struct sampleinfo {
	uint64_t period;	/* how far the event has counted since the last sample */
	uint64_t addr;		/* the address that the event is about: of a page fault, where it was */
	uint64_t ip;		/* where the code is */
	uint64_t sp, bp;
	uint64_t ax, bx, cx, dx, si, di;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t flags, cs, ss, orig_ax;
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
};
