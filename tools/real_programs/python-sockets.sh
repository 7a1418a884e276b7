# Python's own tests of sockets, select, epoll and asyncio.
# needs: /usr/lib/python3.11/test/test_socket.py
run() { /usr/bin/python3.11 -m test -v "$@" 2>&1 | grep -E ' \.\.\. |^Result' | sort; }
run test_select test_epoll
run test_socket -m '*TCPTest*' -m '*UDPTest*' -m '*SendrecvmsgUDPTest*' -m '*SCMRightsStream*'
run test_asyncio.test_sock_lowlevel -m '*Epoll*'; run test_asyncio.test_subprocess -m '*SafeChild*'
