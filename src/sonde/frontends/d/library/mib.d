/*
 * What the mib provider counts of packets.
 */

#pragma D depends_on library net.d
#pragma D depends_on library tcp.d

/* As how many packets this one travels, if the device or its driver divides it, or has joined it. */
inline struct skb_shared_info *packet_shared[struct sk_buff *p] = (struct skb_shared_info *)(p->head + p->end);
inline uint64_t packet_count[struct sk_buff *p] =
    packet_shared[p]->gso_segs > 1 ? (uint64_t)packet_shared[p]->gso_segs : 1;

/* Bytes from the IP header on: of what arrives as IP has them, since a frame may be filled up; 0 there if too many. */
inline uint64_t packet_octets[struct iphdr *h] = packet_version[h] == 6 ?
    ntohs(((struct ipv6hdr *)h)->payload_len) + sizeof (struct ipv6hdr) : ntohs(h->tot_len);

/* Bytes behind the TCP header of a packet that is sent. */
inline int tcp_sent_bytes[struct sk_buff *p] = (int)(p->len -
    ((uintptr_t)packet_tcp[packet_ip[p]] - (uintptr_t)p->data) - packet_tcp[packet_ip[p]]->doff * 4);
inline int tcp_is_sent_again[struct sk_buff *p] = xlate <tcpsinfo_t *>((packet_sent_t *)p)->tcps_retransmit;

/*
 * A segment that its connection takes in begins with the TCP header. Of its bytes those that are expected next are in
 * order, those before have come already.
 */
inline struct tcphdr *tcp_taken[struct sk_buff *p] = (struct tcphdr *)p->data;
inline int tcp_taken_bytes[struct sk_buff *p] = (int)(p->len - tcp_taken[p]->doff * 4);
inline int tcp_ahead[struct sock *s, struct sk_buff *p] =
    tcp_distance[ntohl(tcp_taken[p]->seq), ((struct tcp_sock *)s)->rcv_nxt];
inline int tcp_taken_new[struct sock *s, struct sk_buff *p] = tcp_taken_bytes[p] + tcp_ahead[s, p];
inline int tcp_acknowledged[struct sock *s, struct sk_buff *p] =
    tcp_distance[ntohl(tcp_taken[p]->ack_seq), ((struct tcp_sock *)s)->snd_una];

inline int icmp_type_of[struct iphdr *h] = *packet_transport[h];
inline int packet_is_icmp[struct iphdr *h] = packet_version[h] == 4 && packet_protocol4[h] == IPPROTO_ICMP;
