#!/usr/bin/env -S sonde -s
/*
 * What a Prometheus server keeps of a system: calls, their times and failures,
 * and bytes, by program.
 *
 * Everybody's, also with -c or -p: a server keeps what the whole system does.
 *
 * Run: sonde -s metrics.d -c 'ls /'   once, as text
 *      sonde export -s metrics.d      until ^C, for a server to scrape
 *
 * In prometheus.yml:
 *
 *      scrape_configs:
 *        - job_name: sonde
 *          static_configs: [{ targets: ["127.0.0.1:9435"] }]
 *
 * Then ask it, as in
 *
 *      topk(5, sum by (execname) (rate(sonde_calls_total[1m])))
 *      rate(sonde_failures_total{probefunc="openat",errno="2"}[5m])
 *      histogram_quantile(0.99,
 *          sum by (le) (rate(sonde_nanoseconds_bucket[5m])))
 */

#pragma D option quiet

syscall:::entry
{
        self->began = timestamp;
        @calls[execname] = count();
}

syscall:::return
/self->began/
{
        @nanoseconds[execname] = quantize(timestamp - self->began);
        self->began = 0;
}

syscall:::return
/errno/
{
        @failures[execname, probefunc, errno] = count();
}

syscall::read:return, syscall::write:return
/arg1 > 0/
{
        @bytes[execname, probefunc] = sum(arg1);
}
