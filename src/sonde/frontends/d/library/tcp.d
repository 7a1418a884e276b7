/*
 * Arguments of the tcp provider.
 */

#pragma D depends_on library net.d

inline uint8_t TH_FIN = 0x01;
inline uint8_t TH_SYN = 0x02;
inline uint8_t TH_RST = 0x04;
inline uint8_t TH_PSH = 0x08;
inline uint8_t TH_PUSH = 0x08;
inline uint8_t TH_ACK = 0x10;
inline uint8_t TH_URG = 0x20;
inline uint8_t TH_ECE = 0x40;
inline uint8_t TH_CWR = 0x80;

/* include/net/tcp_states.h */
inline int TCP_STATE_ESTABLISHED = 1;
inline int TCP_STATE_SYN_SENT = 2;
inline int TCP_STATE_SYN_RECEIVED = 3;
inline int TCP_STATE_FIN_WAIT_1 = 4;
inline int TCP_STATE_FIN_WAIT_2 = 5;
inline int TCP_STATE_TIME_WAIT = 6;
inline int TCP_STATE_CLOSED = 7;
inline int TCP_STATE_CLOSE_WAIT = 8;
inline int TCP_STATE_LAST_ACK = 9;
inline int TCP_STATE_LISTEN = 10;
inline int TCP_STATE_CLOSING = 11;
inline int TCP_STATE_NEW_SYN_RECEIVED = 12;

inline string tcp_state_string[int state] =
    state == TCP_STATE_ESTABLISHED ? "state-established" : state == TCP_STATE_SYN_SENT ? "state-syn-sent" :
    state == TCP_STATE_SYN_RECEIVED ? "state-syn-received" : state == TCP_STATE_FIN_WAIT_1 ? "state-fin-wait-1" :
    state == TCP_STATE_FIN_WAIT_2 ? "state-fin-wait-2" : state == TCP_STATE_TIME_WAIT ? "state-time-wait" :
    state == TCP_STATE_CLOSED ? "state-closed" : state == TCP_STATE_CLOSE_WAIT ? "state-close-wait" :
    state == TCP_STATE_LAST_ACK ? "state-last-ack" : state == TCP_STATE_LISTEN ? "state-listen" :
    state == TCP_STATE_CLOSING ? "state-closing" :
    state == TCP_STATE_NEW_SYN_RECEIVED ? "state-new-syn-received" : "<unknown>";

typedef struct tcpinfo {
	uint16_t tcp_sport;
	uint16_t tcp_dport;
	uint32_t tcp_seq;
	uint32_t tcp_ack;
	uint8_t tcp_offset;	/* bytes of the header */
	uint8_t tcp_flags;	/* TH_* */
	uint16_t tcp_window;	/* as sent, not scaled */
	uint16_t tcp_checksum;
	uint16_t tcp_urgent;
	uintptr_t tcp_hdr;	/* the struct tcphdr */
} tcpinfo_t;

typedef struct tcpsinfo {
	uintptr_t tcps_addr;		/* the struct sock; 0 if it is not known */
	int tcps_local;			/* whether both ends are here */
	int tcps_active;		/* no translation */
	uint16_t tcps_lport;
	uint16_t tcps_rport;
	string tcps_laddr;
	string tcps_raddr;
	int tcps_state;			/* TCP_STATE_*; 0 if it is not known */
	uint32_t tcps_iss;		/* first sequence number sent, of a connection half open */
	uint32_t tcps_suna;		/* first number sent and not acknowledged */
	uint32_t tcps_snxt;		/* next number to send */
	uint32_t tcps_rack;		/* last number acknowledged to the peer */
	uint32_t tcps_rnxt;		/* next number expected */
	uint32_t tcps_swnd;		/* window of the peer, bytes */
	int32_t tcps_snd_ws;		/* and its scale */
	uint32_t tcps_rwnd;		/* own window, bytes */
	int32_t tcps_rcv_ws;		/* and its scale */
	uint32_t tcps_cwnd;		/* congestion window, bytes */
	uint32_t tcps_cwnd_ssthresh;	/* slow start ends there, bytes */
	uint32_t tcps_sack_fack;	/* no translation */
	uint32_t tcps_sack_snxt;	/* next number to send again */
	uint32_t tcps_rto;		/* retransmission timeout, ms */
	uint32_t tcps_mss;		/* bytes of the largest segment */
	int tcps_retransmit;		/* whether this segment was sent before */
	uint32_t tcps_rtt;		/* smoothed round trip, ms */
	uint32_t tcps_rtt_sd;		/* its mean deviation, ms */
	uint32_t tcps_irs;		/* first sequence number received, of a connection half open */
} tcpsinfo_t;

typedef struct tcplsinfo {
	int tcps_state;		/* the state before */
} tcplsinfo_t;

inline struct tcphdr *packet_tcp[struct iphdr *h] = (struct tcphdr *)packet_transport[h];

inline int packet_is_tcp[struct iphdr *h] = packet_protocol[h] == IPPROTO_TCP;

/*
 * The connection of a socket, NULL if there is none or it is a part of one: requests and sockets in TIME-WAIT are
 * smaller structures, and what answers for no socket (a reset) is sent through a raw one.
 */
inline struct tcp_sock *tcp_connection[struct sock *s] = s == NULL ||
    s->__sk_common.skc_state == TCP_STATE_NEW_SYN_RECEIVED || s->__sk_common.skc_state == TCP_STATE_TIME_WAIT ||
    s->sk_protocol != IPPROTO_TCP || s->sk_type != 1 ? NULL : (struct tcp_sock *)s;

inline struct tcp_request_sock *tcp_request[struct sock *s] =
    s == NULL || s->__sk_common.skc_state != TCP_STATE_NEW_SYN_RECEIVED ? NULL : (struct tcp_request_sock *)s;

inline int tcp_flags_of[struct tcphdr *t] = ((uint8_t *)t)[13];

/* Of two sequence numbers that are near each other the one before has a negative distance from the other. */
inline int tcp_distance[uint32_t number, uint32_t from] = (int)(number - from);

/* A window of so many segments in bytes; one without end stays so. */
inline uint32_t tcp_bytes[struct tcp_sock *t, uint32_t segments] =
    segments >= 0x7fffffff ? 0x7fffffff : segments * t->mss_cache;

/* include/net/tcp.h, __tcp_set_rto(); before anything was measured a second (RFC 6298). */
inline uint32_t tcp_timeout[struct tcp_sock *t] =
    (t->srtt_us == 0 ? 1000000 : (t->srtt_us >> 3) + t->rttvar_us) / 1000 << t->inet_conn.icsk_backoff;

translator tcpinfo_t < struct tcphdr *t > {
	tcp_sport = t == NULL ? 0 : ntohs(t->source);
	tcp_dport = t == NULL ? 0 : ntohs(t->dest);
	tcp_seq = t == NULL ? 0 : ntohl(t->seq);
	tcp_ack = t == NULL ? 0 : ntohl(t->ack_seq);
	tcp_offset = t == NULL ? 0 : t->doff * 4;
	tcp_flags = t == NULL ? 0 : tcp_flags_of[t];
	tcp_window = t == NULL ? 0 : ntohs(t->window);
	tcp_checksum = t == NULL ? 0 : ntohs(t->check);
	tcp_urgent = t == NULL ? 0 : ntohs(t->urg_ptr);
	tcp_hdr = (uintptr_t)t;
};

/* What a socket has last heard, as far as it is known: the probe has the flags as its argument 6. */
translator tcpinfo_t < sock_heard_t *s > {
	tcp_sport = ntohs(s->heard.__sk_common.skc_dport);
	tcp_dport = s->heard.__sk_common.skc_num;
	tcp_seq = 0;
	tcp_ack = 0;
	tcp_offset = 0;
	tcp_flags = arg6;
	tcp_window = 0;
	tcp_checksum = 0;
	tcp_urgent = 0;
	tcp_hdr = 0;
};

translator tcplsinfo_t < int state > {
	tcps_state = state;
};

translator tcpsinfo_t < struct sock *s > {
	tcps_addr = (uintptr_t)s;
	tcps_local = s == NULL ? 0 : s->__sk_common.skc_family == AF_INET6 ?
	    s->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0] == s->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[0] &&
	    s->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1] == s->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[1] &&
	    s->__sk_common.skc_v6_daddr.in6_u.u6_addr32[2] == s->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[2] &&
	    s->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3] == s->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[3] :
	    s->__sk_common.skc_daddr == s->__sk_common.skc_rcv_saddr || (ntohl(s->__sk_common.skc_daddr) >> 24) == 127;
	/* What is closed has given its port back, but knows which it had. */
	tcps_lport = s == NULL ? 0 : tcp_connection[s] == NULL ? s->__sk_common.skc_num :
	    ntohs(((struct inet_sock *)s)->inet_sport);
	tcps_rport = s == NULL ? 0 : ntohs(s->__sk_common.skc_dport);
	tcps_laddr = s == NULL ? "<unknown>" : sock_local[s];
	tcps_raddr = s == NULL ? "<unknown>" : sock_remote[s];
	tcps_state = tcp_connection[s] == NULL && tcp_request[s] == NULL ? 0 : s->__sk_common.skc_state;
	tcps_iss = tcp_request[s] == NULL ? 0 : tcp_request[s]->snt_isn;
	tcps_suna = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->snd_una;
	tcps_snxt = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->snd_nxt;
	tcps_rack = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->rcv_wup;
	tcps_rnxt = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->rcv_nxt;
	tcps_swnd = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->snd_wnd;
	tcps_snd_ws = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->rx_opt.snd_wscale;
	tcps_rwnd = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->rcv_wnd;
	tcps_rcv_ws = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->rx_opt.rcv_wscale;
	tcps_cwnd = tcp_connection[s] == NULL ? 0 : tcp_bytes[tcp_connection[s], tcp_connection[s]->snd_cwnd];
	tcps_cwnd_ssthresh = tcp_connection[s] == NULL ? 0 :
	    tcp_bytes[tcp_connection[s], tcp_connection[s]->snd_ssthresh];
	tcps_sack_snxt = tcp_connection[s] == NULL || tcp_connection[s]->retransmit_skb_hint == NULL ? 0 :
	    *(uint32_t *)tcp_connection[s]->retransmit_skb_hint->cb;
	tcps_rto = tcp_connection[s] == NULL ? 0 : tcp_timeout[tcp_connection[s]];
	tcps_mss = tcp_connection[s] == NULL ? 0 : tcp_connection[s]->mss_cache;
	tcps_retransmit = 0;
	tcps_rtt = tcp_connection[s] == NULL ? 0 : (tcp_connection[s]->srtt_us >> 3) / 1000;
	tcps_rtt_sd = tcp_connection[s] == NULL ? 0 : (tcp_connection[s]->mdev_us >> 2) / 1000;
	tcps_irs = tcp_request[s] == NULL ? 0 : tcp_request[s]->rcv_isn;
};

/* A segment on its way out: its ends from the segment, all else from its socket. */
translator tcpsinfo_t < packet_sent_t *p > {
	tcps_addr = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_addr;
	tcps_local = p->packet.dev == NULL ? 0 : (p->packet.dev->flags & 8) != 0;
	tcps_lport = ntohs(packet_tcp[packet_ip[(struct sk_buff *)p]]->source);
	tcps_rport = ntohs(packet_tcp[packet_ip[(struct sk_buff *)p]]->dest);
	tcps_laddr = packet_source[packet_ip[(struct sk_buff *)p]];
	tcps_raddr = packet_destination[packet_ip[(struct sk_buff *)p]];
	tcps_state = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_state;
	tcps_iss = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_iss;
	tcps_suna = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_suna;
	tcps_snxt = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_snxt;
	tcps_rack = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_rack;
	tcps_rnxt = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_rnxt;
	tcps_swnd = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_swnd;
	tcps_snd_ws = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_snd_ws;
	tcps_rwnd = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_rwnd;
	tcps_rcv_ws = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_rcv_ws;
	tcps_cwnd = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_cwnd;
	tcps_cwnd_ssthresh = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_cwnd_ssthresh;
	tcps_sack_snxt = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_sack_snxt;
	tcps_rto = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_rto;
	tcps_mss = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_mss;
	tcps_retransmit = tcp_connection[p->packet.sk] != NULL &&
	    tcp_distance[ntohl(packet_tcp[packet_ip[(struct sk_buff *)p]]->seq), tcp_connection[p->packet.sk]->snd_nxt] < 0;
	tcps_rtt = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_rtt;
	tcps_rtt_sd = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_rtt_sd;
	tcps_irs = xlate <tcpsinfo_t *>(p->packet.sk)->tcps_irs;
};

/* A segment that arrives has not met its socket yet. */
translator tcpsinfo_t < packet_received_t *p > {
	tcps_addr = 0;
	tcps_local = p->packet.dev == NULL ? 0 : (p->packet.dev->flags & 8) != 0;
	tcps_lport = ntohs(packet_tcp[packet_ip_arriving[(struct sk_buff *)p]]->dest);
	tcps_rport = ntohs(packet_tcp[packet_ip_arriving[(struct sk_buff *)p]]->source);
	tcps_laddr = packet_destination[packet_ip_arriving[(struct sk_buff *)p]];
	tcps_raddr = packet_source[packet_ip_arriving[(struct sk_buff *)p]];
	tcps_state = 0;
	tcps_iss = 0;
	tcps_suna = 0;
	tcps_snxt = 0;
	tcps_rack = 0;
	tcps_rnxt = 0;
	tcps_swnd = 0;
	tcps_snd_ws = 0;
	tcps_rwnd = 0;
	tcps_rcv_ws = 0;
	tcps_cwnd = 0;
	tcps_cwnd_ssthresh = 0;
	tcps_sack_snxt = 0;
	tcps_rto = 0;
	tcps_mss = 0;
	tcps_retransmit = 0;
	tcps_rtt = 0;
	tcps_rtt_sd = 0;
	tcps_irs = 0;
};

/* The state it goes into is the probe's argument 7. */
translator tcpsinfo_t < sock_heard_t *s > {
	tcps_addr = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_addr;
	tcps_local = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_local;
	tcps_lport = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_lport;
	tcps_rport = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rport;
	tcps_laddr = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_laddr;
	tcps_raddr = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_raddr;
	tcps_state = arg7;
	tcps_iss = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_iss;
	tcps_suna = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_suna;
	tcps_snxt = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_snxt;
	tcps_rack = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rack;
	tcps_rnxt = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rnxt;
	tcps_swnd = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_swnd;
	tcps_snd_ws = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_snd_ws;
	tcps_rwnd = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rwnd;
	tcps_rcv_ws = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rcv_ws;
	tcps_cwnd = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_cwnd;
	tcps_cwnd_ssthresh = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_cwnd_ssthresh;
	tcps_sack_snxt = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_sack_snxt;
	tcps_rto = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rto;
	tcps_mss = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_mss;
	tcps_retransmit = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_retransmit;
	tcps_rtt = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rtt;
	tcps_rtt_sd = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_rtt_sd;
	tcps_irs = xlate <tcpsinfo_t *>((struct sock *)s)->tcps_irs;
};
