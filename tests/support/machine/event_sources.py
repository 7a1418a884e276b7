"""A directory of event sources as /sys/bus/event_source/devices has them, of a processor with a PMU."""

FILES = {
    "software/type": "1",
    "cpu/type": "4",
    "cpu/format/event": "config:0-7,32-35",
    "cpu/format/umask": "config:8-15",
    "cpu/format/ldlat": "config1:0-15",
    "cpu/events/cache-misses": "event=0x2e,umask=0x41",
    "cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
    "cpu/events/with-parameter": "event=0x1,ldlat=?",
    "other/type": "18",
    "other/events/reads": "config=0x9",
}


def made(directory, without=()):
    """The path of the directory, without the sources named."""
    for path, text in FILES.items():
        file = directory / path
        if path.partition("/")[0] not in without:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n")
    return str(directory)
