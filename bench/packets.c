/*
 * Sends frames from a device at a steady rate, or as fast as it can, and says how many.
 *
 *     packets DEVICE RATE SECONDS SIZE     RATE 0: full speed
 *
 * Each frame has a number of 8 bytes behind the Ethernet header, counted from 0, then a pattern. PACKET_QDISC_BYPASS
 * hands frames to the driver at once. Prints the number of frames and the seconds they took.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { BURST = 16, LONGEST = 65536, HEADER = 14, EXPERIMENTAL = 0x88b5 };

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static int
opened(const char *device)
{
	struct sockaddr_ll to = {AF_PACKET};
	int bypass = 1, sender = socket(AF_PACKET, SOCK_RAW, 0);

	to.sll_ifindex = if_nametoindex(device);
	if (sender < 0 || !to.sll_ifindex || bind(sender, (struct sockaddr *)&to, sizeof to) ||
	    setsockopt(sender, SOL_PACKET, PACKET_QDISC_BYPASS, &bypass, sizeof bypass)) {
		perror(device);
		exit(1);
	}
	return sender;
}

int
main(int argc, char **argv)
{
	static unsigned char frames[BURST][LONGEST];
	static struct mmsghdr messages[BURST];
	static struct iovec parts[BURST];
	double rate, seconds, begin, passed = 0;
	uint64_t number = 0;
	int sender, size, done;

	if (argc != 5 || (size = atoi(argv[4])) < HEADER + 8 || size > LONGEST) {
		fprintf(stderr, "usage: packets DEVICE RATE SECONDS SIZE\n");
		return 2;
	}
	sender = opened(argv[1]);
	rate = atof(argv[2]);
	seconds = atof(argv[3]);
	for (int i = 0; i < BURST; i++) {
		/* To an address that nobody has: the receiver's stack lets go of it at once. */
		memcpy(frames[i], "\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x88\xb5", HEADER);
		for (int at = HEADER + 8; at < size; at++)
			frames[i][at] = at;
		parts[i] = (struct iovec){frames[i], size};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	begin = now();
	while (passed < seconds) {
		if (rate == 0 || number < passed * rate) {
			for (int i = 0; i < BURST; i++) {
				uint64_t numbered = number + i;
				memcpy(frames[i] + HEADER, &numbered, sizeof numbered);
			}
			done = sendmmsg(sender, messages, BURST, 0);
			if (done < 0 && errno != ENOBUFS && errno != EAGAIN) {
				perror("send");
				return 1;
			}
			number += done > 0 ? done : 0;
		}
		passed = now() - begin;
	}
	printf("%lld %.3f\n", (long long)number, passed);
	return 0;
}
