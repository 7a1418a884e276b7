/*
 * The lockstat provider: how the lock of a rw- probe is wanted, and kinds of locks.
 */

inline int RW_WRITER = 0;
inline int RW_READER = 1;

/* LCB_F_* (include/trace/events/lock.h). */
inline int LOCK_SPINS = 1;
inline int LOCK_READS = 2;
inline int LOCK_WRITES = 4;
inline int LOCK_RT = 8;
inline int LOCK_MUTEX = 32;
inline int LOCK_WAITS = 1 << 30;	/* none of the kernel's: not zero while somebody waits */

inline int lock_is_rw[int flags] = (flags & (LOCK_READS | LOCK_WRITES)) != 0;
inline int lock_is_adaptive[int flags] = (flags & (LOCK_MUTEX | LOCK_RT)) != 0 && !lock_is_rw[flags];

/* What DTrace calls a rwlock_t, which has no tag in C; debugging kernels have more behind it. */
struct rwlock {
	arch_rwlock_t raw_lock;
};
