# perl: threads or forks, signals, sockets in pairs; prove of two tests at once.
# needs: perl prove
cat > p.pl <<'P'
use strict; use Socket; use POSIX ":sys_wait_h"; use Time::HiRes qw(usleep ualarm);
$| = 1; my ($ticks, $sum) = (0, 0);
$SIG{ALRM} = sub { $ticks++; ualarm(20000) if $ticks < 5 }; ualarm(20000);
while ($ticks < 5) { usleep(200000) } print "ticks $ticks\n";
for my $n (1 .. 5) {
    socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
    my $pid = fork; if (!$pid) { close $a; while (<$b>) { syswrite $b, $_ * 2 . "\n" } POSIX::_exit($n) }
    close $b; syswrite $a, "$n\n"; $sum += <$a>; close $a; waitpid $pid, 0; print $? >> 8, "\n";
}
print "sum $sum\n";
P
perl p.pl
cat > t.pl <<'P'
use threads; use threads::shared; my $n :shared = 0;
$_->join for map { threads->create(sub { for (1 .. 200) { lock $n; $n++ } }) } 1 .. 8; print "$n\n";
P
perl t.pl
mkdir t; for n in 1 2 3; do echo 'use Test::More tests => 3; ok(1); is(`echo x`, "x\n"); ok(!system("true"));' > t/$n.t; done
prove -j2 t | sed 's/, .*//' | sort
