"""The `io` provider: requests to block devices, and waiting for XFS's buffers.

What is started and done is a request of a driver with queues, or a bio of one that takes these itself (submit_bio in
its operations: zram, dm, md ...). No bio of a disk with queues completes on its own (BIO_TRACE_COMPLETION is cleared,
block/blk-mq.c), so each transfer is seen once on each disk it goes through.
"""

from __future__ import annotations

from sonde.providers.derived.definition import Definition, Definitions, NativeArgument, ShownArgument

_SHOWN = (ShownArgument("bufinfo_t *", 0), ShownArgument("devinfo_t *", 1), ShownArgument("fileinfo_t *", 2))
_TAKES_BIOS = "args->bio->bi_bdev->bd_disk->fops->submit_bio != NULL"


def _request(
    tracepoint: str, condition: str, buffer: str, *more: NativeArgument, others: Definition
) -> tuple[Definition, ...]:
    values = (
        NativeArgument(buffer, f"({buffer})args->rq"),
        NativeArgument("struct gendisk *", "args->rq->q->disk"),
        NativeArgument("struct bio *", "args->rq->bio"),
        *more,
    )
    return (Definition(tracepoint, condition, values, _SHOWN, more=(others,)),)


def _bio(tracepoint: str, buffer: str, *more: NativeArgument) -> Definition:
    values = (
        NativeArgument(buffer, f"({buffer})args->bio"),
        NativeArgument("struct gendisk *", "args->bio->bi_bdev->bd_disk"),
        NativeArgument("struct bio *", "args->bio"),
        *more,
    )
    return Definition(tracepoint, _TAKES_BIOS, values, _SHOWN)


def _xfs(tracepoint: str) -> tuple[Definition, ...]:
    values = (
        NativeArgument("struct xfs_buf *", "args->bp"),
        NativeArgument("struct gendisk *", "args->bp->b_target->bt_bdev->bd_disk"),
        NativeArgument("struct bio *", "(struct bio *)NULL"),
    )
    return (Definition(tracepoint, "", values, _SHOWN),)


DEFINITIONS: Definitions = {
    "start": _request("block_rq_issue", "", "struct request *", others=_bio("block_bio_queue", "struct bio *")),
    "done": _request(
        "block_rq_complete",
        # Others leave a part of the request to be done.
        "args->error != 0 || args->nr_bytes >= args->rq->__data_len",
        "request_done_t *",
        NativeArgument("int", "args->error"),
        NativeArgument("unsigned int", "args->nr_bytes"),
        others=_bio("block_bio_complete", "bio_done_t *", NativeArgument("int", "args->bio->bi_status")),
    ),
    "wait-start": _xfs("xfs_buf_iowait"),
    "wait-done": _xfs("xfs_buf_iowait_done"),
}
