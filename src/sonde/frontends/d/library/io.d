/*
 * Arguments of the io provider.
 */

typedef char *caddr_t;

typedef struct bufinfo {
	int b_flags;		/* B_* */
	size_t b_bcount;	/* bytes */
	caddr_t b_addr;		/* 0 unless the buffer has one address */
	uint64_t b_lblkno;	/* the first block, of 512 bytes, on the whole disk */
	uint64_t b_blkno;	/* the same */
	size_t b_resid;		/* bytes not transferred */
	size_t b_bufsize;	/* bytes of the buffer */
	caddr_t b_iodone;	/* what is called when it is done */
	int b_error;		/* an error number, or 0 */
	dev_t b_edev;		/* the disk */
} bufinfo_t;

typedef struct devinfo {
	int dev_major;
	int dev_minor;
	int dev_instance;	/* the minor number of the whole disk */
	string dev_name;	/* the driver, or the disk if it has none */
	string dev_statname;	/* the disk */
	string dev_pathname;
} devinfo_t;

inline int B_BUSY = 0x000001;
inline int B_DONE = 0x000002;
inline int B_ERROR = 0x000004;
inline int B_PAGEIO = 0x000010;
inline int B_PHYS = 0x000020;
inline int B_READ = 0x000040;
inline int B_WRITE = 0x000100;
inline int B_ASYNC = 0x000400;

/*
 * The operation is in the low 8 bits: 0 is a read, all that write are odd (enum req_op). A write is waited for if it is
 * synchronous, forced to the medium or behind a flush (op_is_sync(), include/linux/blk_types.h).
 */
inline int io_flags[unsigned int operation] = B_BUSY |
    ((operation & 0xff) == REQ_OP_READ || (operation & 0xff) == REQ_OP_DRV_IN ? B_READ :
    (operation & 1) == 0 ? 0 :
    (operation & (1 << __REQ_SYNC | 1 << __REQ_FUA | 1 << __REQ_PREFLUSH)) ? B_WRITE : B_WRITE | B_ASYNC);

/* What BLK_STS_* mean (block/blk-core.c). */
inline int io_error[int status] =
    status == 0 ? 0 : status == 1 ? EOPNOTSUPP : status == 2 ? ETIMEDOUT : status == 3 ? ENOSPC :
    status == 4 ? ENOLINK : status == 5 ? EREMOTEIO : status == 6 ? EBADE : status == 7 ? ENODATA :
    status == 8 ? EILSEQ : status == 9 ? ENOMEM : status == 12 ? EAGAIN : EIO;

/* Requests that are for no block have one of all ones. */
inline uint64_t io_block[uint64_t sector] = sector == -1 ? 0 : sector;

translator bufinfo_t < struct request *r > {
	b_flags = io_flags[r->cmd_flags];
	b_bcount = r->__data_len;
	b_addr = NULL;
	b_lblkno = io_block[r->__sector];
	b_blkno = io_block[r->__sector];
	b_resid = 0;
	b_bufsize = r->__data_len;
	b_iodone = (caddr_t)r->end_io;
	b_error = 0;
	b_edev = r->q->disk == NULL ? 0 : r->q->disk->part0->bd_dev;
};

translator bufinfo_t < struct bio *b > {
	b_flags = io_flags[b->bi_opf];
	b_bcount = b->bi_iter.bi_size;
	b_addr = NULL;
	b_lblkno = b->bi_iter.bi_sector;
	b_blkno = b->bi_iter.bi_sector;
	b_resid = 0;
	b_bufsize = b->bi_iter.bi_size;
	b_iodone = (caddr_t)b->bi_end_io;
	b_error = 0;
	b_edev = b->bi_bdev == NULL ? 0 : b->bi_bdev->bd_disk->part0->bd_dev;
};

/*
 * What is done: the probe has the status as its argument 3 and how many bytes were transferred as its argument 4.
 */
typedef struct request_done {
	struct request done;
} request_done_t;

typedef struct bio_done {
	struct bio done;
} bio_done_t;

inline int io_flags_done[unsigned int operation, int status] =
    (io_flags[operation] & ~B_BUSY) | B_DONE | (status == 0 ? 0 : B_ERROR);

translator bufinfo_t < request_done_t *r > {
	b_flags = io_flags_done[r->done.cmd_flags, arg3];
	b_bcount = xlate <bufinfo_t *>((struct request *)r)->b_bcount;
	b_addr = xlate <bufinfo_t *>((struct request *)r)->b_addr;
	b_lblkno = xlate <bufinfo_t *>((struct request *)r)->b_lblkno;
	b_blkno = xlate <bufinfo_t *>((struct request *)r)->b_blkno;
	b_resid = arg3 == 0 ? r->done.__data_len - arg4 : r->done.__data_len;
	b_bufsize = xlate <bufinfo_t *>((struct request *)r)->b_bufsize;
	b_iodone = xlate <bufinfo_t *>((struct request *)r)->b_iodone;
	b_error = io_error[arg3];
	b_edev = xlate <bufinfo_t *>((struct request *)r)->b_edev;
};

translator bufinfo_t < bio_done_t *b > {
	b_flags = io_flags_done[b->done.bi_opf, arg3];
	b_bcount = xlate <bufinfo_t *>((struct bio *)b)->b_bcount;
	b_addr = xlate <bufinfo_t *>((struct bio *)b)->b_addr;
	b_lblkno = xlate <bufinfo_t *>((struct bio *)b)->b_lblkno;
	b_blkno = xlate <bufinfo_t *>((struct bio *)b)->b_blkno;
	b_resid = arg3 == 0 ? 0 : b->done.bi_iter.bi_size;
	b_bufsize = xlate <bufinfo_t *>((struct bio *)b)->b_bufsize;
	b_iodone = xlate <bufinfo_t *>((struct bio *)b)->b_iodone;
	b_error = io_error[arg3];
	b_edev = xlate <bufinfo_t *>((struct bio *)b)->b_edev;
};

/*
 * XFS's own buffers of metadata (enum xfs_buf flags, fs/xfs/xfs_buf.h: 1 read, 2 write, 16 nobody waits).
 */
translator bufinfo_t < struct xfs_buf *b > {
	b_flags = B_BUSY | ((b->b_flags & 1) ? B_READ : 0) | ((b->b_flags & 2) ? B_WRITE : 0) |
	    ((b->b_flags & 16) ? B_ASYNC : 0) | (b->b_error ? B_ERROR : 0);
	b_bcount = b->b_length * 512;
	b_addr = (caddr_t)b->b_addr;
	b_lblkno = b->b_maps->bm_bn;
	b_blkno = b->b_maps->bm_bn;
	b_resid = 0;
	b_bufsize = b->b_length * 512;
	b_iodone = (caddr_t)b->b_iodone;
	b_error = b->b_error < 0 ? -b->b_error : b->b_error;
	b_edev = b->b_target->bt_dev;
};

translator devinfo_t < struct gendisk *d > {
	dev_major = d == NULL ? 0 : d->major;
	dev_minor = d == NULL ? 0 : d->first_minor;
	dev_instance = d == NULL ? 0 : d->first_minor;
	dev_name = d == NULL ? "<unknown>" :
	    d->part0->bd_device.parent == NULL || d->part0->bd_device.parent->driver == NULL ? stringof(d->disk_name) :
	    stringof(d->part0->bd_device.parent->driver->name);
	dev_statname = d == NULL ? "<unknown>" : stringof(d->disk_name);
	dev_pathname = d == NULL ? "<unknown>" : strjoin("/dev/", stringof(d->disk_name));
};

/*
 * Open files.
 */

typedef struct fileinfo {
	string fi_name;		/* the last part of the path */
	string fi_dirname;	/* the path up to there */
	string fi_pathname;
	loff_t fi_offset;	/* where the next read or write begins */
	string fi_fs;		/* type of the file system */
	string fi_mount;	/* always "<unknown>" */
	int fi_oflags;		/* O_* */
} fileinfo_t;

/* Flags of open(2) (include/uapi/asm-generic/fcntl.h). */
inline int O_ACCMODE = 03;
inline int O_RDONLY = 00;
inline int O_WRONLY = 01;
inline int O_RDWR = 02;
inline int O_CREAT = 0100;
inline int O_EXCL = 0200;
inline int O_NOCTTY = 0400;
inline int O_TRUNC = 01000;
inline int O_APPEND = 02000;
inline int O_NONBLOCK = 04000;
inline int O_NDELAY = 04000;
inline int O_DSYNC = 010000;
inline int O_ASYNC = 020000;
inline int O_DIRECT = 040000;
inline int O_LARGEFILE = 0100000;
inline int O_DIRECTORY = 0200000;
inline int O_NOFOLLOW = 0400000;
inline int O_NOATIME = 01000000;
inline int O_CLOEXEC = 02000000;
inline int O_SYNC = 04010000;
inline int O_FSYNC = 04010000;
inline int O_RSYNC = 04010000;

/* NULL, as for a descriptor that is not open, is the file "<none>". */
translator fileinfo_t < struct file *F > {
	fi_name = F == NULL ? "<none>" : stringof(F->f_path.dentry->d_name.name);
	fi_dirname = F == NULL ? "<none>" : dirname(d_path(&F->f_path));
	fi_pathname = F == NULL ? "<none>" : d_path(&F->f_path);
	fi_offset = F == NULL ? 0 : F->f_pos;
	fi_fs = F == NULL ? "<none>" : stringof(F->f_path.mnt->mnt_sb->s_type->name);
	fi_mount = F == NULL ? "<none>" : "<unknown>";
	fi_oflags = F == NULL ? 0 : F->f_flags;
};

/* A path as a system call is given it: an address in the process. */
typedef struct file_path {
	char path[1];
} file_path_t;

translator fileinfo_t < file_path_t *p > {
	fi_name = basename(copyinstr((uintptr_t)p));
	fi_dirname = dirname(copyinstr((uintptr_t)p));
	fi_pathname = copyinstr((uintptr_t)p);
	fi_offset = 0;
	fi_fs = "<unknown>";
	fi_mount = "<unknown>";
	fi_oflags = 0;
};

inline struct file *thread_file[int fd] = curthread->files != NULL && fd >= 0 &&
    fd < curthread->files->fdt->max_fds ? curthread->files->fdt->fd[fd] : NULL;

inline fileinfo_t fds[int fd] = xlate <fileinfo_t> (__open_file(fd));

/*
 * The file that the first page of a transfer belongs to, if it is one of the page cache: folios are found by the low bit
 * of compound_head, anonymous memory by that of mapping (include/linux/mm_types.h).
 */
inline struct page *io_tail[struct bio *b] = b == NULL || b->bi_io_vec == NULL || b->bi_vcnt == 0 ? NULL :
    b->bi_io_vec->bv_page;
inline struct page *io_page[struct page *p] =
    p != NULL && (p->compound_head & 1) ? (struct page *)(p->compound_head - 1) : p;
inline struct address_space *io_mapping[struct page *p] =
    p == NULL || ((uint64_t)p->mapping & 3) ? NULL : p->mapping;
inline struct inode *io_inode[struct address_space *m] = m == NULL ? NULL : m->host;
inline struct inode *io_file[struct bio *b] = io_inode[io_mapping[io_page[io_tail[b]]]];
inline struct dentry *io_dentry[struct hlist_node *n] =
    n == NULL ? NULL : (struct dentry *)((uint64_t)n - offsetof(struct dentry, d_u));
inline struct dentry *io_name[struct inode *i] = i == NULL ? NULL : io_dentry[i->i_dentry.first];

translator fileinfo_t < struct bio *b > {
	fi_name = io_name[io_file[b]] == NULL ? "<none>" : stringof(io_name[io_file[b]]->d_name.name);
	fi_dirname = "<unknown>";
	fi_pathname = "<unknown>";
	fi_offset = 0;
	fi_fs = io_file[b] == NULL ? "<none>" : stringof(io_file[b]->i_sb->s_type->name);
	fi_mount = "<unknown>";
	fi_oflags = 0;
};
