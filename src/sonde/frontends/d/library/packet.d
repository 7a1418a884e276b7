/*
 * Arguments of the packet provider. A field of a header that a packet does not have, or has not whole, is 0; text that
 * stands for such an address is "<unknown>".
 */

#pragma D depends_on library net.d
#pragma D depends_on library ip.d

typedef struct packetinfo {
	uint32_t len;		/* bytes of the packet, from the link header on */
	uint32_t hdr_len;	/* of these, bytes of link, network and transport headers */
	string if_name;
	uint32_t if_index;
	string eth_src;
	string eth_dst;
	uint16_t eth_type;	/* what is behind the tags of VLANs */
	uint16_t vlan_id;	/* of the outermost tag */
	uint8_t ip_ver;		/* 4 or 6 */
	uint8_t ip_protocol;	/* behind IPv6's extension headers */
	uint32_t ip_plength;	/* bytes behind the IP header */
	string ip_saddr;
	string ip_daddr;
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
	uint8_t ipv6_tclass;
	uint32_t ipv6_flow;
	uint16_t ipv6_plen;	/* bytes behind the header */
	uint8_t ipv6_nexthdr;
	string ipv6_nextstr;
	uint8_t ipv6_hlim;
	string ipv6_saddr;
	string ipv6_daddr;
	uint16_t tcp_sport;
	uint16_t tcp_dport;
	uint32_t tcp_seq;
	uint32_t tcp_ack;
	uint8_t tcp_offset;	/* bytes of the header */
	uint8_t tcp_flags;	/* TH_* */
	uint16_t tcp_window;	/* as sent, not scaled */
	uint16_t tcp_checksum;
	uint16_t tcp_urgent;
	uint16_t udp_sport;
	uint16_t udp_dport;
	uint16_t udp_length;	/* bytes, with the header */
	uint16_t udp_checksum;
	uint8_t icmp_type;	/* of ICMP and of ICMPv6 */
	uint8_t icmp_code;
	uint16_t icmp_checksum;
	uint16_t icmp_ident;	/* of echoes */
	uint16_t icmp_seq;
} packetinfo_t;

inline int ETHERTYPE_IP = 0x0800;
inline int ETHERTYPE_ARP = 0x0806;
inline int ETHERTYPE_VLAN = 0x8100;
inline int ETHERTYPE_IPV6 = 0x86dd;

inline uint32_t passing_network = __packet_headers() & 0xffff;
inline uint32_t passing_transport = __packet_headers() >> 16 & 0xffff;
inline uint32_t passing_protocol = __packet_headers() >> 32 & 0xff;
inline uint32_t passing_type = __packet_headers() >> 40;

inline int passing_is_ip4 = passing_type == 0x0800;
inline int passing_is_ip6 = passing_type == 0x86dd;
inline int passing_has_tcp = passing_protocol == IPPROTO_TCP && passing_transport != 0;
inline int passing_has_udp = (passing_protocol == IPPROTO_UDP || passing_protocol == IPPROTO_UDPLITE) &&
    passing_transport != 0;
inline int passing_has_icmp = (passing_protocol == IPPROTO_ICMP || passing_protocol == IPPROTO_ICMPV6) &&
    passing_transport != 0;
inline int passing_has_ethernet = passing_network >= 14;

inline uint32_t passing_ip4[int offset, int size] =
    passing_is_ip4 ? __packet_number(passing_network + offset, size) : 0;
inline uint32_t passing_ip6[int offset, int size] =
    passing_is_ip6 ? __packet_number(passing_network + offset, size) : 0;
inline uint32_t passing_tcp[int offset, int size] =
    passing_has_tcp ? __packet_number(passing_transport + offset, size) : 0;
inline uint32_t passing_udp[int offset, int size] =
    passing_has_udp ? __packet_number(passing_transport + offset, size) : 0;
inline uint32_t passing_icmp[int offset, int size] =
    passing_has_icmp ? __packet_number(passing_transport + offset, size) : 0;

inline string passing_address[int offset4, int offset6] =
    passing_is_ip4 ? __packet_text(4, passing_network + offset4) :
    passing_is_ip6 ? __packet_text(6, passing_network + offset6) : "<unknown>";

inline uint32_t passing_headers =
    passing_has_tcp ? passing_transport + (passing_tcp[12, 1] >> 4) * 4 :
    passing_has_udp || passing_has_icmp ? passing_transport + 8 :
    passing_transport != 0 ? passing_transport :
    passing_is_ip4 ? passing_network + (passing_ip4[0, 1] & 15) * 4 :
    passing_is_ip6 ? passing_network + 40 : passing_network;

translator packetinfo_t < unsigned int p > {
	len = p;
	hdr_len = passing_headers < p ? passing_headers : p;
	if_name = probemod;
	if_index = ifindex;
	eth_src = passing_has_ethernet ? __packet_text(1, 6) : "<unknown>";
	eth_dst = passing_has_ethernet ? __packet_text(1, 0) : "<unknown>";
	eth_type = passing_type;
	vlan_id = passing_has_ethernet ? __packet_tag() : 0;
	ip_ver = passing_is_ip4 ? 4 : passing_is_ip6 ? 6 : 0;
	ip_protocol = passing_protocol;
	ip_plength = passing_is_ip4 ? (passing_ip4[2, 2] == 0 ? 0 : passing_ip4[2, 2] - (passing_ip4[0, 1] & 15) * 4) :
	    passing_ip6[4, 2];
	ip_saddr = passing_address[12, 8];
	ip_daddr = passing_address[16, 24];
	ipv4_ihl = (passing_ip4[0, 1] & 15) * 4;
	ipv4_tos = passing_ip4[1, 1];
	ipv4_length = passing_ip4[2, 2];
	ipv4_ident = passing_ip4[4, 2];
	ipv4_flags = passing_ip4[6, 2] >> 13;
	ipv4_offset = passing_ip4[6, 2] & 0x1fff;
	ipv4_ttl = passing_ip4[8, 1];
	ipv4_protocol = passing_ip4[9, 1];
	ipv4_protostr = passing_is_ip4 ? ip_protocol_name[passing_ip4[9, 1]] : "<null>";
	ipv4_checksum = passing_ip4[10, 2];
	ipv4_src = htonl(passing_ip4[12, 4]);
	ipv4_dst = htonl(passing_ip4[16, 4]);
	ipv4_saddr = passing_is_ip4 ? __packet_text(4, passing_network + 12) : "<null>";
	ipv4_daddr = passing_is_ip4 ? __packet_text(4, passing_network + 16) : "<null>";
	ipv6_tclass = passing_ip6[0, 2] >> 4;
	ipv6_flow = passing_ip6[0, 4] & 0xfffff;
	ipv6_plen = passing_ip6[4, 2];
	ipv6_nexthdr = passing_ip6[6, 1];
	ipv6_nextstr = passing_is_ip6 ? ip_protocol_name[passing_ip6[6, 1]] : "<null>";
	ipv6_hlim = passing_ip6[7, 1];
	ipv6_saddr = passing_is_ip6 ? __packet_text(6, passing_network + 8) : "<null>";
	ipv6_daddr = passing_is_ip6 ? __packet_text(6, passing_network + 24) : "<null>";
	tcp_sport = passing_tcp[0, 2];
	tcp_dport = passing_tcp[2, 2];
	tcp_seq = passing_tcp[4, 4];
	tcp_ack = passing_tcp[8, 4];
	tcp_offset = (passing_tcp[12, 1] >> 4) * 4;
	tcp_flags = passing_tcp[13, 1];
	tcp_window = passing_tcp[14, 2];
	tcp_checksum = passing_tcp[16, 2];
	tcp_urgent = passing_tcp[18, 2];
	udp_sport = passing_udp[0, 2];
	udp_dport = passing_udp[2, 2];
	udp_length = passing_udp[4, 2];
	udp_checksum = passing_udp[6, 2];
	icmp_type = passing_icmp[0, 1];
	icmp_code = passing_icmp[1, 1];
	icmp_checksum = passing_icmp[2, 2];
	icmp_ident = passing_icmp[4, 2];
	icmp_seq = passing_icmp[6, 2];
};
