"""The providers nfsv3 and nfsv4 on a machine without the kernel's NFS server: which tracepoints of fs/nfsd/trace.h make
which probes, and what their translators give of a request that the test makes up."""

from importlib import import_module

import pytest
from support.command.command import sonde

from sonde.model.probe import RawTracepoint
from sonde.providers.derived.provider import DerivedProvider
from sonde.providers.pattern import Pattern
from sonde.providers.provider import IdentifierBlock

TRANSFER, FAILED = ("rqstp", "fhp", "offset", "len"), ("rqstp", "fhp", "offset", "status")
TRACEPOINTS = {
    "nfsd_read_splice": TRANSFER, "nfsd_read_vector": TRANSFER, "nfsd_read_io_done": TRANSFER,
    "nfsd_write_opened": TRANSFER, "nfsd_write_io_done": TRANSFER, "nfsd_read_err": FAILED, "nfsd_write_err": FAILED,
}  # fmt: skip
"""The classes nfsd_io_class and nfsd_err_class, with the names of their arguments."""

SOURCES = {
    "op-read-start": ("nfsd_read_splice", "nfsd_read_vector"),
    "op-read-done": ("nfsd_read_io_done", "nfsd_read_err"),
    "op-write-start": ("nfsd_write_opened",),
    "op-write-done": ("nfsd_write_io_done", "nfsd_write_err"),
}


class Server:
    """A kernel with the server's tracepoints."""

    def tracepoint_parameters(self, name):
        return TRACEPOINTS.get(name)

    def lookup(self, keyword, name):
        return None

    def function(self, name):
        return None


@pytest.mark.parametrize("version", [3, 4])
def test_operations_are_those_of_their_version(version):
    tables = import_module(f"sonde.providers.derived.nfsv{version}")
    provider = DerivedProvider(
        f"nfsv{version}", IdentifierBlock(100, 199), tables.DEFINITIONS, Server(), absent=tables.ABSENT
    )
    found = provider.match(Pattern(f"nfsv{version}"))
    assert {each.name for each in found} == set(SOURCES)
    for probe in found:
        made = provider.derivations(probe)
        assert [each.source.name for each in made] == list(SOURCES[probe.name])
        for each in made:
            number = len(TRACEPOINTS[each.source.name])
            assert each.source.firing == RawTracepoint(each.source.name, number)
            assert each.condition == f"args[0]->rq_vers == {version}"
            failed = each.source.name.endswith("_err")
            assert each.values == (
                "args[0]", "args[0]", "0" if failed else "args[3]", "args[2]", "args[1]", "args[3]" if failed else "0",
            )  # fmt: skip


REQUEST = """
struct svc_cred { int cr_flavor; };
struct svc_rqst {
    uint32_t rq_xid; int rq_vers; struct sockaddr_in6 rq_daddr, rq_addr; struct svc_cred rq_cred;
};
BEGIN {
    this->r = (struct svc_rqst *)alloca(sizeof(struct svc_rqst));
    this->r->rq_xid = htonl(70000);
    this->r->rq_cred.cr_flavor = 6;
    this->from = (struct sockaddr_in *)&this->r->rq_addr;
    this->from->sin_family = 2;
    this->from->sin_addr.s_addr = htonl(0x0a000007);
    this->to = &this->r->rq_daddr;
    this->to->sin6_family = 10;
    this->to->sin6_addr.in6_u.u6_addr8[15] = 1;
    this->bytes = (uint32_t)1009;
    SHOWN
    exit(0);
}
ERROR { exit(1); }
"""

MEMBERS = {
    ("conninfo_t", "r"): {"ci_remote": "10.0.0.7", "ci_local": "::1", "ci_protocol": "ipv4"},
    ("nfsv3opinfo_t", "r"): {"noi_xid": 70000, "noi_cred->cr_flavor": 6},
    ("nfsv4opinfo_t", "r"): {"noi_xid": 70000, "noi_cred->cr_flavor": 6},
    ("READ3args", "bytes"): {"count": 1009, "offset": 0},
    ("READ4args", "bytes"): {"count": 1009, "offset": 0},
    ("WRITE3args", "bytes"): {"count": 1009, "offset": 0, "data.data_len": 1009},
    ("WRITE4args", "bytes"): {"count": 1009, "offset": 0, "data_len": 1009},
    ("READ3res", "bytes"): {"status": 0, "res_u.ok.count": 1009, "res_u.ok.data.data_len": 1009},
    ("READ4res", "bytes"): {"status": 0, "data_len": 1009},
    ("WRITE3res", "bytes"): {"status": 0, "res_u.ok.count": 1009},
    ("WRITE4res", "bytes"): {"status": 0, "count": 1009},
}
"""By type and what is translated; what is from the probe's own arguments is 0 in BEGIN."""


@pytest.mark.share(1)
@pytest.mark.parametrize(("kind", "source"), MEMBERS)
def test_members_of_arguments(kind, source):
    members = MEMBERS[kind, source]
    shown = "".join(
        f'printf("%{"s" if isinstance(value, str) else "d"}\\n", (xlate <{kind} *> (this->{source}))->{name});'
        for name, value in members.items()
    )
    done = sonde("-xscratchsize=1k", "-qn", REQUEST.replace("SHOWN", shown))
    assert [line for line in done.stdout.splitlines() if line] == [str(value) for value in members.values()]
