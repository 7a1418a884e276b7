/*
 * How the lock of a lockstat:::rw- probe is wanted.
 */

inline int RW_WRITER = 0;
inline int RW_READER = 1;
