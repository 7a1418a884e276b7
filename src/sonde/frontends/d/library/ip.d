/*
 * Arguments of the ip provider, and those that all network providers have.
 */

#pragma D depends_on library net.d

typedef uintptr_t netstackid_t;

typedef struct pktinfo {
	uintptr_t pkt_addr;	/* the struct sk_buff */
} pktinfo_t;

typedef struct csinfo {
	uintptr_t cs_addr;	/* the struct sock; 0 if the packet has none */
	uint64_t cs_cid;	/* the socket's cookie; 0 if nothing has asked for it */
	pid_t cs_pid;		/* as the next, with no translation */
	int cs_zoneid;
} csinfo_t;

typedef struct ipinfo {
	uint8_t ip_ver;		/* 4 or 6 */
	uint32_t ip_plength;	/* bytes behind the IP header */
	string ip_saddr;
	string ip_daddr;
} ipinfo_t;

typedef struct ifinfo {
	string if_name;
	int8_t if_local;		/* whether it is a loopback interface */
	netstackid_t if_ipstack;	/* the struct net */
	uintptr_t if_addr;		/* the struct net_device */
} ifinfo_t;

typedef struct ipv4info {
	uint8_t ipv4_ver;
	uint8_t ipv4_ihl;	/* bytes of the header */
	uint8_t ipv4_tos;
	uint16_t ipv4_length;	/* bytes, with the header */
	uint16_t ipv4_ident;
	uint8_t ipv4_flags;	/* 1 more fragments, 2 do not fragment */
	uint16_t ipv4_offset;	/* of the fragment, in 8 bytes */
	uint8_t ipv4_ttl;
	uint8_t ipv4_protocol;
	string ipv4_protostr;
	uint16_t ipv4_checksum;
	ipaddr_t ipv4_src;
	ipaddr_t ipv4_dst;
	string ipv4_saddr;
	string ipv4_daddr;
	struct iphdr *ipv4_hdr;
} ipv4info_t;

typedef struct ipv6info {
	uint8_t ipv6_ver;
	uint8_t ipv6_tclass;
	uint32_t ipv6_flow;
	uint16_t ipv6_plen;	/* bytes behind the header */
	uint8_t ipv6_nexthdr;
	string ipv6_nextstr;
	uint8_t ipv6_hlim;
	in6_addr_t *ipv6_src;
	in6_addr_t *ipv6_dst;
	string ipv6_saddr;
	string ipv6_daddr;
	struct ipv6hdr *ipv6_hdr;
} ipv6info_t;

inline string ip_protocol_name[int protocol] =
    protocol == IPPROTO_TCP ? "TCP" : protocol == IPPROTO_UDP ? "UDP" : protocol == IPPROTO_ICMP ? "ICMP" :
    protocol == IPPROTO_ICMPV6 ? "ICMPV6" : protocol == IPPROTO_IGMP ? "IGMP" : protocol == IPPROTO_IPIP ? "IP" :
    protocol == IPPROTO_IPV6 ? "IPV6" : protocol == IPPROTO_ROUTING ? "ROUTE" : protocol == IPPROTO_FRAGMENT ? "FRAG" :
    protocol == IPPROTO_GRE ? "GRE" : protocol == IPPROTO_ESP ? "ESP" : protocol == IPPROTO_AH ? "AH" :
    protocol == IPPROTO_NONE ? "NONE" : protocol == IPPROTO_DSTOPTS ? "DSTOPTS" : protocol == IPPROTO_SCTP ? "SCTP" :
    protocol == IPPROTO_DCCP ? "DCCP" : protocol == IPPROTO_OSPF ? "OSPF" : protocol == IPPROTO_PIM ? "PIM" :
    protocol == IPPROTO_UDPLITE ? "UDPLITE" : protocol == IPPROTO_HOPOPTS ? "HOPOPTS" : "<unknown>";

translator pktinfo_t < struct sk_buff *p > {
	pkt_addr = (uintptr_t)p;
};

translator csinfo_t < struct sock *s > {
	cs_addr = (uintptr_t)s;
	cs_cid = s == NULL ? 0 : s->__sk_common.skc_cookie.counter;
};

translator ifinfo_t < struct net_device *d > {
	if_name = d == NULL ? "<null>" : stringof(d->name);
	if_local = d == NULL ? 0 : (d->flags & 8) != 0;
	if_ipstack = d == NULL ? 0 : (netstackid_t)d->nd_net.net;
	if_addr = (uintptr_t)d;
};

translator ipinfo_t < struct iphdr *h > {
	ip_ver = h == NULL ? 0 : packet_version[h];
	ip_plength = h == NULL ? 0 : packet_version[h] == 6 ? ntohs(((struct ipv6hdr *)h)->payload_len) :
	    h->tot_len == 0 ? 0 : ntohs(h->tot_len) - (*(uint8_t *)h & 15) * 4;
	ip_saddr = h == NULL ? "<unknown>" : packet_source[h];
	ip_daddr = h == NULL ? "<unknown>" : packet_destination[h];
};

/* What a socket has last heard: from its peer to it. */
translator ipinfo_t < sock_heard_t *s > {
	ip_ver = s->heard.__sk_common.skc_family == AF_INET6 ? 6 : 4;
	ip_plength = 0;
	ip_saddr = sock_remote[(struct sock *)s];
	ip_daddr = sock_local[(struct sock *)s];
};

translator ipv4info_t < struct iphdr *h > {
	ipv4_ver = h == NULL ? 0 : packet_version[h];
	ipv4_ihl = h == NULL ? 0 : (*(uint8_t *)h & 15) * 4;
	ipv4_tos = h == NULL ? 0 : h->tos;
	ipv4_length = h == NULL ? 0 : ntohs(h->tot_len);
	ipv4_ident = h == NULL ? 0 : ntohs(h->id);
	ipv4_flags = h == NULL ? 0 : ntohs(h->frag_off) >> 13;
	ipv4_offset = h == NULL ? 0 : ntohs(h->frag_off) & 0x1fff;
	ipv4_ttl = h == NULL ? 0 : h->ttl;
	ipv4_protocol = h == NULL ? 0 : h->protocol;
	ipv4_protostr = h == NULL ? "<null>" : ip_protocol_name[h->protocol];
	ipv4_checksum = h == NULL ? 0 : ntohs(h->check);
	ipv4_src = h == NULL ? 0 : h->saddr;
	ipv4_dst = h == NULL ? 0 : h->daddr;
	ipv4_saddr = h == NULL ? "<null>" : inet_ntoa(&h->saddr);
	ipv4_daddr = h == NULL ? "<null>" : inet_ntoa(&h->daddr);
	ipv4_hdr = h;
};

translator ipv6info_t < struct ipv6hdr *h > {
	ipv6_ver = h == NULL ? 0 : *(uint8_t *)h >> 4;
	ipv6_tclass = h == NULL ? 0 : ntohs(*(uint16_t *)h) >> 4 & 0xff;
	ipv6_flow = h == NULL ? 0 : ntohl(*(uint32_t *)h) & 0xfffff;
	ipv6_plen = h == NULL ? 0 : ntohs(h->payload_len);
	ipv6_nexthdr = h == NULL ? 0 : h->nexthdr;
	ipv6_nextstr = h == NULL ? "<null>" : ip_protocol_name[h->nexthdr];
	ipv6_hlim = h == NULL ? 0 : h->hop_limit;
	ipv6_src = h == NULL ? NULL : &h->saddr;
	ipv6_dst = h == NULL ? NULL : &h->daddr;
	ipv6_saddr = h == NULL ? "<null>" : inet_ntoa6(&h->saddr);
	ipv6_daddr = h == NULL ? "<null>" : inet_ntoa6(&h->daddr);
	ipv6_hdr = h;
};
