"""The `io` provider: requests to block devices, and waiting for XFS's buffers.

The function tells what is started and done: a `request` of a driver with queues, or a `bio` of one that takes these
itself (submit_bio in its operations: zram, dm, md ...). No bio of a disk with queues completes on its own
(BIO_TRACE_COMPLETION is cleared, block/blk-mq.c), so each transfer is seen once on each disk it goes through.
"""

from __future__ import annotations

from sonde.probes.derived.definition import Definition, Definitions, Shown, Value

_SHOWN = (Shown("bufinfo_t *", 0), Shown("devinfo_t *", 1))
_REQUEST_DISK = Value("struct gendisk *", "args->rq->q->disk")
_BIO_DISK = Value("struct gendisk *", "args->bio->bi_bdev->bd_disk")
_TAKES_BIOS = "args->bio->bi_bdev->bd_disk->fops->submit_bio != NULL"


def _xfs(tracepoint: str) -> Definition:
    values = (Value("struct xfs_buf *", "args->bp"), Value("struct gendisk *", "args->bp->b_target->bt_bdev->bd_disk"))
    return Definition(tracepoint, "", values, _SHOWN)


DEFINITIONS: Definitions = {
    "request:start": (
        Definition("block_rq_issue", "", (Value("struct request *", "args->rq"), _REQUEST_DISK), _SHOWN),
    ),
    "bio:start": (Definition("block_bio_queue", _TAKES_BIOS, (Value("struct bio *", "args->bio"), _BIO_DISK), _SHOWN),),
    "request:done": (
        Definition(
            "block_rq_complete",
            # Others leave a part of the request to be done.
            "args->error != 0 || args->nr_bytes >= args->rq->__data_len",
            (
                Value("request_done_t *", "(request_done_t *)args->rq"),
                _REQUEST_DISK,
                Value("int", "0"),
                Value("int", "args->error"),
                Value("unsigned int", "args->nr_bytes"),
            ),
            _SHOWN,
        ),
    ),
    "bio:done": (
        Definition(
            "block_bio_complete",
            _TAKES_BIOS,
            (
                Value("bio_done_t *", "(bio_done_t *)args->bio"),
                _BIO_DISK,
                Value("int", "0"),
                Value("int", "args->bio->bi_status"),
            ),
            _SHOWN,
        ),
    ),
    "xfs_buf:wait-start": (_xfs("xfs_buf_iowait"),),
    "xfs_buf:wait-done": (_xfs("xfs_buf_iowait_done"),),
}
