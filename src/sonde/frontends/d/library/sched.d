/*
 * The processor a probe fires on.
 */

typedef int processorid_t;
typedef int psetid_t;
typedef int chipid_t;
typedef int lgrp_id_t;

typedef struct cpuinfo {
	processorid_t cpu_id;	/* number of the CPU */
	psetid_t cpu_pset;	/* always 0: Linux has no processor sets */
	chipid_t cpu_chip;	/* physical package */
	lgrp_id_t cpu_lgrp;	/* NUMA node */
} cpuinfo_t;

/* A CPU that is known by its number. */
translator cpuinfo_t < int number > {
	cpu_id = number;
	cpu_pset = 0;
};

inline processorid_t cpu = curcpu->cpu_id;
inline psetid_t pset = curcpu->cpu_pset;
inline chipid_t chip = curcpu->cpu_chip;
inline lgrp_id_t lgrp = curcpu->cpu_lgrp;
