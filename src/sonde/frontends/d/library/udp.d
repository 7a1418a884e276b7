/*
 * Arguments of the udp provider.
 */

#pragma D depends_on library net.d

typedef struct udpinfo {
	uint16_t udp_sport;
	uint16_t udp_dport;
	uint16_t udp_length;	/* bytes, with the header */
	uint16_t udp_checksum;
	struct udphdr *udp_hdr;
} udpinfo_t;

typedef struct udpsinfo {
	uintptr_t udps_addr;	/* the struct sock; 0 if it is not known */
	uint16_t udps_lport;
	uint16_t udps_rport;
	string udps_laddr;
	string udps_raddr;
} udpsinfo_t;

inline struct udphdr *packet_udp[struct iphdr *h] = (struct udphdr *)packet_transport[h];

inline int packet_is_udp[struct iphdr *h] = packet_protocol[h] == IPPROTO_UDP;

translator udpinfo_t < struct udphdr *u > {
	udp_sport = u == NULL ? 0 : ntohs(u->source);
	udp_dport = u == NULL ? 0 : ntohs(u->dest);
	udp_length = u == NULL ? 0 : ntohs(u->len);
	udp_checksum = u == NULL ? 0 : ntohs(u->check);
	udp_hdr = u;
};

translator udpsinfo_t < packet_sent_t *p > {
	udps_addr = (uintptr_t)p->packet.sk;
	udps_lport = ntohs(packet_udp[packet_ip[(struct sk_buff *)p]]->source);
	udps_rport = ntohs(packet_udp[packet_ip[(struct sk_buff *)p]]->dest);
	udps_laddr = packet_source[packet_ip[(struct sk_buff *)p]];
	udps_raddr = packet_destination[packet_ip[(struct sk_buff *)p]];
};

/* A datagram that arrives has not met its socket yet. */
translator udpsinfo_t < packet_received_t *p > {
	udps_addr = 0;
	udps_lport = ntohs(packet_udp[packet_ip_arriving[(struct sk_buff *)p]]->dest);
	udps_rport = ntohs(packet_udp[packet_ip_arriving[(struct sk_buff *)p]]->source);
	udps_laddr = packet_destination[packet_ip_arriving[(struct sk_buff *)p]];
	udps_raddr = packet_source[packet_ip_arriving[(struct sk_buff *)p]];
};
