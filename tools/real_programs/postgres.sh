# PostgreSQL under pgbench by four clients.
# needs: /usr/local/bin/initdb|/usr/lib/postgresql/15/bin/initdb pgbench pgrep
# user: ordinary
PATH=$PATH:/usr/lib/postgresql/15/bin
if [ "$1" = prepare ]; then
    initdb -D db -A trust -U someone > log 2>&1; cd db; printf 'fsync = off\nunix_socket_directories = \047\047\n' >> postgresql.conf
    exit
fi
cp -r "$SHARED/db" db; chmod 700 db
postgres -D db -p $PORT > log 2>&1 & server=$!
await pg_isready -q -h 127.0.0.1 -p $PORT
bench() { pgbench -h 127.0.0.1 -p $PORT -U someone postgres "$@" 2>&1; }
bench -i -s 1 | tail -1 | sed 's/ .*//'
ready $server $(pgrep -P $server -f writer)
bench -n -c 4 -j 2 -t 60 | grep -E 'actually|failed'
psql -h 127.0.0.1 -p $PORT -U someone postgres -Atc 'select count(*) from pgbench_history; vacuum; select 1/0'
kill -INT $server; wait $server; echo "status $?"; grep -ciE 'panic|terminated by signal' log
