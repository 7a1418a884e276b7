/*
 * What the network's libraries share: numbers, and where a packet has its headers.
 */

typedef __be32 ipaddr_t;
typedef struct in6_addr in6_addr_t;

inline int AF_INET = 2;
inline int AF_INET6 = 10;

inline int ARPHRD_ETHER = 1;
inline int ARPHRD_INFINIBAND = 32;

inline int IPPROTO_IP = 0;
inline int IPPROTO_HOPOPTS = 0;
inline int IPPROTO_ICMP = 1;
inline int IPPROTO_IGMP = 2;
inline int IPPROTO_IPIP = 4;
inline int IPPROTO_TCP = 6;
inline int IPPROTO_EGP = 8;
inline int IPPROTO_PUP = 12;
inline int IPPROTO_UDP = 17;
inline int IPPROTO_IDP = 22;
inline int IPPROTO_DCCP = 33;
inline int IPPROTO_IPV6 = 41;
inline int IPPROTO_ROUTING = 43;
inline int IPPROTO_FRAGMENT = 44;
inline int IPPROTO_RSVP = 46;
inline int IPPROTO_GRE = 47;
inline int IPPROTO_ESP = 50;
inline int IPPROTO_AH = 51;
inline int IPPROTO_ICMPV6 = 58;
inline int IPPROTO_NONE = 59;
inline int IPPROTO_DSTOPTS = 60;
inline int IPPROTO_OSPF = 89;
inline int IPPROTO_PIM = 103;
inline int IPPROTO_SCTP = 132;
inline int IPPROTO_UDPLITE = 136;
inline int IPPROTO_RAW = 255;

/*
 * A packet with the way it goes, and a socket that has just heard from its peer or changes its state: the same memory,
 * but translated differently.
 */
typedef struct packet_sent {
	struct sk_buff packet;
} packet_sent_t;

typedef struct packet_received {
	struct sk_buff packet;
} packet_received_t;

typedef struct sock_heard {
	struct sock heard;
} sock_heard_t;

/*
 * The IP header. Where a packet arrives its network header is not marked yet: its data begin there
 * (__netif_receive_skb_core(), net/core/dev.c).
 */
inline struct iphdr *packet_ip[struct sk_buff *p] = (struct iphdr *)(p->head + p->network_header);
inline struct iphdr *packet_ip_arriving[struct sk_buff *p] = (struct iphdr *)p->data;

inline int packet_version[struct iphdr *h] = *(uint8_t *)h >> 4;

/*
 * Whether IP hands this packet to its device, and takes it from there: not again where the device below a bridge, bond,
 * team or VLAN has it, and not what is for somebody else (PACKET_OTHERHOST).
 */
inline int packet_is_ip[struct sk_buff *p] = p->protocol == htons(0x0800) || p->protocol == htons(0x86dd);
inline int packet_is_sent[struct sk_buff *p] = packet_is_ip[p] && p->vlan_tci == 0 &&
    (p->dev->priv_flags & (IFF_BRIDGE_PORT | IFF_OVS_DATAPATH | IFF_TEAM_PORT)) == 0 && (p->dev->flags & IFF_SLAVE) == 0;
inline int packet_is_received[struct sk_buff *p] = packet_is_ip[p] && p->pkt_type != 3 &&
    (p->dev->priv_flags & (IFF_BRIDGE_PORT | IFF_OVS_DATAPATH)) == 0 && p->len - p->data_len >= sizeof (struct iphdr);

/*
 * The protocol above IP and where its header is: behind IPv4's options, or behind one IPv6 extension header. Of a
 * fragment only the first has one; -1 for others.
 */
inline int packet_protocol4[struct iphdr *h] = (h->frag_off & htons(0x1fff)) ? -1 : h->protocol;

inline int packet_extended[int next] =
    next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_FRAGMENT || next == IPPROTO_DSTOPTS;
inline uint8_t *packet_extension[struct ipv6hdr *h] = (uint8_t *)h + sizeof (struct ipv6hdr);
inline int packet_protocol6[struct ipv6hdr *h] =
    !packet_extended[h->nexthdr] ? h->nexthdr :
    h->nexthdr == IPPROTO_FRAGMENT && (*(uint16_t *)(packet_extension[h] + 2) & htons(0xfff8)) ? -1 :
    *packet_extension[h];
inline int packet_length6[struct ipv6hdr *h] = sizeof (struct ipv6hdr) +
    (!packet_extended[h->nexthdr] ? 0 : h->nexthdr == IPPROTO_FRAGMENT ? 8 : (packet_extension[h][1] + 1) * 8);

inline int packet_protocol[struct iphdr *h] =
    packet_version[h] == 6 ? packet_protocol6[(struct ipv6hdr *)h] : packet_protocol4[h];
inline uint8_t *packet_transport[struct iphdr *h] = (uint8_t *)h +
    (packet_version[h] == 6 ? packet_length6[(struct ipv6hdr *)h] : (*(uint8_t *)h & 15) * 4);

inline string packet_source[struct iphdr *h] = packet_version[h] == 6 ?
    inet_ntoa6(&((struct ipv6hdr *)h)->saddr) : inet_ntoa(&h->saddr);
inline string packet_destination[struct iphdr *h] = packet_version[h] == 6 ?
    inet_ntoa6(&((struct ipv6hdr *)h)->daddr) : inet_ntoa(&h->daddr);

/*
 * The ends of a socket. A request for a connection has only the common part of a socket, with both.
 */
inline string sock_local[struct sock *s] = s->__sk_common.skc_family == AF_INET6 ?
    inet_ntoa6(&s->__sk_common.skc_v6_rcv_saddr) : inet_ntoa(&s->__sk_common.skc_rcv_saddr);
inline string sock_remote[struct sock *s] = s->__sk_common.skc_family == AF_INET6 ?
    inet_ntoa6(&s->__sk_common.skc_v6_daddr) : inet_ntoa(&s->__sk_common.skc_daddr);
