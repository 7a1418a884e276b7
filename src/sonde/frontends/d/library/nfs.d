/*
 * Arguments of the providers nfsv3 and nfsv4.
 */

#pragma D depends_on library net.d

typedef struct conninfo {
	string ci_local;	/* addresses */
	string ci_remote;
	string ci_protocol;	/* ipv4 or ipv6 */
} conninfo_t;

inline string nfs_address[struct sockaddr *a] = a->sa_family == AF_INET6 ?
    inet_ntoa6(&((struct sockaddr_in6 *)a)->sin6_addr) : inet_ntoa(&((struct sockaddr_in *)a)->sin_addr.s_addr);

translator conninfo_t < struct svc_rqst *r > {
	ci_local = nfs_address[(struct sockaddr *)&r->rq_daddr];
	ci_remote = nfs_address[(struct sockaddr *)&r->rq_addr];
	ci_protocol = ((struct sockaddr *)&r->rq_addr)->sa_family == AF_INET6 ? "ipv6" : "ipv4";
};

/* The path of a file below its export, five names deep; what is deeper has "/..." for the first. */
inline string nfs_name[struct dentry *d] = strjoin("/", stringof(d->d_name.name));
inline string nfs_path1[struct dentry *d, struct dentry *top] = d == top ? "" : strjoin("/...", nfs_name[d]);
inline string nfs_path2[struct dentry *d, struct dentry *top] =
    d == top ? "" : strjoin(nfs_path1[d->d_parent, top], nfs_name[d]);
inline string nfs_path3[struct dentry *d, struct dentry *top] =
    d == top ? "" : strjoin(nfs_path2[d->d_parent, top], nfs_name[d]);
inline string nfs_path4[struct dentry *d, struct dentry *top] =
    d == top ? "" : strjoin(nfs_path3[d->d_parent, top], nfs_name[d]);
inline string nfs_path5[struct dentry *d, struct dentry *top] =
    d == top ? "" : strjoin(nfs_path4[d->d_parent, top], nfs_name[d]);
inline string nfs_path[struct svc_fh *f] = f->fh_dentry == NULL || f->fh_export == NULL ? "<unknown>" :
    strjoin(d_path(&f->fh_export->ex_path), nfs_path5[f->fh_dentry, f->fh_export->ex_path.dentry]);

typedef struct nfs_opinfo {
	uint64_t noi_xid;		/* the request's number */
	struct svc_cred *noi_cred;	/* who asks */
	string noi_curpath;
} nfs_opinfo_t;

typedef nfs_opinfo_t nfsv3opinfo_t;
typedef nfs_opinfo_t nfsv4opinfo_t;

/* The file's handle is the probe's argument 4. */
translator nfs_opinfo_t < struct svc_rqst *r > {
	noi_xid = ntohl(r->rq_xid);
	noi_cred = &r->rq_cred;
	noi_curpath = nfs_path[(struct svc_fh *)arg4];
};

/*
 * What a transfer is asked for and has come to: bytes, and as the probe's arguments 3 and 5 where it begins and the error,
 * less than 0.
 */
typedef struct nfs_data {
	uint32_t data_len;
} nfs_data_t;

translator nfs_data_t < uint32_t bytes > {
	data_len = bytes;
};

typedef struct nfs_ok {
	uint32_t count;
	nfs_data_t data;
} nfs_ok_t;

translator nfs_ok_t < uint32_t bytes > {
	count = bytes;
	data = xlate <nfs_data_t> (bytes);
};

typedef struct nfs_res {
	nfs_ok_t ok;
} nfs_res_t;

translator nfs_res_t < uint32_t bytes > {
	ok = xlate <nfs_ok_t> (bytes);
};

typedef struct nfs_read_args {
	uint64_t offset;
	uint32_t count;
} nfs_read_args_t;

typedef nfs_read_args_t READ3args;
typedef nfs_read_args_t READ4args;

translator nfs_read_args_t < uint32_t bytes > {
	offset = arg3;
	count = bytes;
};

typedef struct WRITE3args {
	uint64_t offset;
	uint32_t count;
	int stable;		/* no translation */
	nfs_data_t data;
} WRITE3args;

translator WRITE3args < uint32_t bytes > {
	offset = arg3;
	count = bytes;
	data = xlate <nfs_data_t> (bytes);
};

typedef struct WRITE4args {
	uint64_t offset;
	uint32_t count;
	int stable;		/* no translation */
	uint32_t data_len;
} WRITE4args;

translator WRITE4args < uint32_t bytes > {
	offset = arg3;
	count = bytes;
	data_len = bytes;
};

typedef struct READ3res {
	int status;
	nfs_res_t res_u;
} READ3res;

translator READ3res < uint32_t bytes > {
	status = -arg5;
	res_u = xlate <nfs_res_t> (bytes);
};

typedef struct READ4res {
	int status;
	uint32_t data_len;
} READ4res;

translator READ4res < uint32_t bytes > {
	status = -arg5;
	data_len = bytes;
};

typedef struct WRITE3res {
	int status;
	nfs_res_t res_u;
} WRITE3res;

translator WRITE3res < uint32_t bytes > {
	status = -arg5;
	res_u = xlate <nfs_res_t> (bytes);
};

typedef struct WRITE4res {
	int status;
	uint32_t count;
} WRITE4res;

translator WRITE4res < uint32_t bytes > {
	status = -arg5;
	count = bytes;
};
