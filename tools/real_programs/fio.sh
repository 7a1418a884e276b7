# fio by io_uring, by libaio and by threads, with what it wrote verified.
# needs: fio
# outside: container
for engine in io_uring libaio psync; do
    fio --name=x --filename=data --size=2m --bs=16k --rw=randrw --verify=crc32c --ioengine=$engine --iodepth=8 --thread \
        --numjobs=1 --output-format=terse --minimal --fallocate=none | cut -d';' -f5,6,47
    echo "$engine ${PIPESTATUS[0]}"
done
