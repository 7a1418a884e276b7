"""What is to be exported, and where: a value of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonde.library.errors import Error
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from sonde.library.aggregations import Key
    from sonde.model.records import AggregationSpec, ArraySpec

GAUGE_OPTION = "--gauge"
LABEL_SETS = 1000
PREFIX = "sonde"
HOST, PORT = "127.0.0.1", 9435


class KeyTexts(Protocol):
    """Gives the text of each part of a key."""

    def __call__(self, spec: AggregationSpec | ArraySpec, key: Key, /) -> Sequence[str]: ...


class ListenAddress(NamedTuple):
    """Where to listen; port 0 is any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ExportRequest(NamedTuple):
    """Where to listen; how names of metrics begin; how many label sets a metric has at most; sums that are gauges, by
    name. `announce` is told where the metrics are. Of another language than D: `texts` of keys, `functions` as the
    program calls them, by aggregation, and `left_out`, names of maps that cannot be exported."""

    address: ListenAddress
    prefix: str = PREFIX
    label_sets: int = LABEL_SETS
    gauges: frozenset[str] = frozenset()
    announce: Callable[[str], None] | None = None
    texts: KeyTexts | None = None
    functions: Mapping[str, str] = {}
    left_out: frozenset[str] = frozenset()


def require_prometheus() -> None:
    """Raises Error where there is no prometheus_client."""
    try:
        import prometheus_client  # noqa: F401 (whether it is there)
    except ImportError:
        text = "metrics are made by prometheus_client, which is not there"
        raise Error(text, "install sonde-trace[prometheus]") from None


def address_of(text: str) -> ListenAddress:
    """HOST:PORT, [HOST]:PORT, :PORT or PORT; without a host the loopback's. Raises Error."""
    host, _, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_number = port.isascii() and port.isdigit() and int(port) < 1 << 16
    if not is_number or (":" in host and not text.startswith("[")):
        raise Error(f"--listen {text}: it takes HOST:PORT", f"--listen {HOST}:{PORT}")
    return ListenAddress(host or HOST, int(port))
