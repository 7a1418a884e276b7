# redis under redis-benchmark, with a snapshot by fork.
# needs: redis-server redis-benchmark
redis-server --port $PORT --save "" --daemonize no > log & server=$!
answers() { redis-cli -p $PORT ping > /dev/null 2>&1; }; await answers
ready $server
redis-benchmark -p $PORT -n 3000 -c 20 -t set,get,incr,lpush --csv | cut -d, -f1
redis-cli -p $PORT get counter:__rand_int__; redis-cli -p $PORT llen mylist; redis-cli -p $PORT bgsave > /dev/null
saved() { redis-cli -p $PORT info persistence | grep -q bgsave_in_progress:0; }; await saved
redis-cli -p $PORT info persistence | grep last_bgsave_status | tr -d '\r'
redis-cli -p $PORT shutdown nosave; wait $server; echo "status $?"
