# ruby: threads, queues, forks, traps and sockets.
# needs: ruby
cat > r.rb <<'R'
require "socket"; require "timeout"
q = Queue.new; ts = 5.times.map { |i| Thread.new { 100.times { |k| q << i * k } } }; ts.each(&:join); s = 0
s += q.pop until q.empty?; puts s
5.times { |i| r, w = IO.pipe; pid = fork { r.close; w.puts i * 2; exit! i }; w.close; print r.read; Process.wait pid; puts $?.exitstatus }
got = 0; trap("USR1") { got += 1 }; 5.times { Process.kill "USR1", $$; sleep 0.01 }; puts got
begin; Timeout.timeout(0.05) { sleep }; rescue Timeout::Error; puts "late"; end
l = TCPServer.new("127.0.0.1", 0); t = Thread.new { n = 0; 30.times { c = l.accept; n += c.read.size; c.close }; n }
30.times { |i| c = TCPSocket.new("127.0.0.1", l.addr[1]); c.write "x" * i; c.close }; puts t.value
puts `echo out; exit 3`, $?.exitstatus; p Process.clock_gettime(Process::CLOCK_MONOTONIC) > 0
R
ruby r.rb; echo "status $?"
