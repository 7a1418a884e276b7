# Transactions by two processes at once, with a journal and with a log.
# needs: sqlite3
for mode in delete wal; do
    rm -f d.db*
    sqlite3 d.db "pragma journal_mode=$mode; create table t(who, n)"
    writer() {
        for n in 1 2 3 4 5; do
            sqlite3 -cmd ".timeout 20000" d.db "begin immediate; insert into t select '$1', value from
                generate_series(1, 200); commit"
        done
    }
    writer a & writer b & wait
    sqlite3 d.db "select who, count(*), sum(n) from t group by who; pragma integrity_check"
done
