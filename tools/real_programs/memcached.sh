# memcached with four threads, four clients at once.
# needs: memcached perl
user=; [ "$(id -u)" = 0 ] && user="-u root"
memcached $user -l 127.0.0.1 -p $PORT -t 4 & server=$!
cat > client.pl <<'P'
use IO::Socket::INET; my ($port, $who) = @ARGV; my ($s, $bad) = (undef, 0);
for (1 .. 100) { last if $s = IO::Socket::INET->new("127.0.0.1:$port"); select undef, undef, undef, 0.05 }
for my $n (1 .. 250) {
    my $v = "$who-$n" x 20; printf $s "set %s-%d 0 0 %d\r\n%s\r\n", $who, $n % 9, length $v, $v; $bad++ if <$s> ne "STORED\r\n";
    print $s "get $who-" . $n % 9 . "\r\n"; <$s>; $bad++ if <$s> ne "$v\r\n"; $bad++ if <$s> ne "END\r\n";
}
exit($bad > 0);
P
perl client.pl $PORT z; echo "first $?"
ready $server
clients=; for who in a b c d; do perl client.pl $PORT $who & clients="$clients $!"; done
for one in $clients; do wait $one; echo "client $?"; done
kill $server; wait $server; echo "status $?"
