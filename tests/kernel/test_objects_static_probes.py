"""BPF objects at static probes (USDT): arguments by name, and as bpf_usdt_arg() of libbpf's usdt.bpf.h finds them."""

import pytest
from support.bpf.bpf_objects import BOTH, built, compiled
from support.command import command
from support.symbols.static_programs import assembler

PROGRAM = (
    assembler("""
.section .probes, "aw"
.globl counter
counter: .2byte 0
.text
""")
    + """
extern volatile unsigned short counter;
long table[4] = { 10, -20, 30, -40 };
int listened;
__attribute__((noinline)) void fire(long i, char small)
{
    register long *base asm("rbx") = table;
    register long by asm("r12") = i;
    asm volatile("probe shop, sale, counter, \\"8@%%rdi -1@%%sil -8@8(%%rbx) 4@$-7 -8@(%%rbx,%%r12,8) -4@24(%%rbx)\\""
                 :: "r"(base), "r"(by), "D"(i), "S"((long)small) : "memory");
    listened += counter;
}
__attribute__((noinline)) void close(long i) { asm volatile("probe shop, closed, 0, 8@%%rdi" :: "D"(i) : "memory"); }
int main(void)
{
    for (long i = 0; i < 3; i++)
        fire(i, -5 - i);
    close(77);
    return listened != 3;
}
"""
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built(PROGRAM, tmp_path_factory.mktemp("program") / "program")


# The interface of libbpf's usdt.bpf.h: names of the map and of the members, not its code.
READER = """
struct arg { u64 val_off; %s short reg_off; u8 arg_signed; char arg_bitshift; };
struct __bpf_usdt_spec { struct arg args[12]; u64 usdt_cookie; short arg_cnt; };
struct { __uint(type, 2); __uint(max_entries, %d); __type(key, int); __type(value, struct __bpf_usdt_spec); }
    __bpf_usdt_specs SEC(".maps");
static __attribute__((always_inline)) u64 in_register(void *context, int at)
{
    u64 found = 0;
    bpf_probe_read_kernel(&found, 8, (char *)context + at);
    return found;
}
static __attribute__((noinline)) long argument(void *context, u64 number)
{
    int key = bpf_get_attach_cookie(context);
    struct __bpf_usdt_spec *spec = bpf_map_lookup_elem(&__bpf_usdt_specs, &key);
    if (!spec || number >= 12 || number >= spec->arg_cnt)
        return -7777;
    struct arg *arg = &spec->args[number];
    u64 value = arg->val_off, kind = arg->arg_type;
    if (kind)
        value = in_register(context, arg->reg_off);
    if (kind == 3)
        value += in_register(context, arg->idx_reg_off) << arg->scale_bitshift;
    if (kind > 1) {
        u64 address = value + arg->val_off;
        bpf_probe_read_user(&value, 8, (void *)address);
    }
    value <<= arg->arg_bitshift;
    return arg->arg_signed ? (long)value >> arg->arg_bitshift : value >> arg->arg_bitshift;
}
"""
LATER = "u32 arg_type : 8, idx_reg_off : 12, scale_bitshift : 4, rest : 8;"
EARLIER = "u32 arg_type;"


def run(source, compiler, program, status=0):
    return command.sonde("--object", compiled(source, compiler), "-c", program, status=status)


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_arguments_as_the_header_of_libbpf_finds_them(compiler, program):
    source = (
        READER % (LATER, 4)
        + f"""
    SEC("usdt/{program}:shop:sale") int sale(void *context)
    {{
        bpf_printk("%ld %ld %ld", argument(context, 0), argument(context, 1), argument(context, 2));
        bpf_printk("%ld %ld %ld", argument(context, 3), argument(context, 4), argument(context, 5));
        return 0;
    }}
    SEC("usdt/{program}:shop:closed") int closed(void *context)
    {{ bpf_printk("closed %ld %ld", argument(context, 0), argument(context, 1)); return 0; }}
    """
    )
    expected = []
    for i in range(3):
        expected += [f"{i} {-5 - i} -20", f"{(1 << 32) - 7} {(10, -20, 30)[i]} -40"]
    # That the program ends well says that its semaphore was raised.
    assert run(source, compiler, program).stdout.splitlines() == [*expected, "closed 77 -7777"]


@pytest.mark.share(1)
@pytest.mark.parametrize("compiler", BOTH)
def test_arguments_by_name(compiler, program):
    source = f"""
    char lines[] SEC("config") = "exec={program}\\nsale=%shop:sale arg0 arg1 arg2 arg3 arg5\\nclosed=%shop:closed arg0";
    struct sale {{ u64 arg0; signed char arg1; long arg2; u32 arg3; int arg5; }};
    SEC("sale") int on_sale(void *context, struct sale *v, long error)
    {{ bpf_printk("%ld %d %ld", v->arg0, v->arg1, v->arg2);
       bpf_printk("%u %d %ld", v->arg3, v->arg5, error); return 0; }}
    SEC("closed") int on_closed(void *context, long error, long arg0) {{ bpf_printk("closed %ld", arg0); return 0; }}
    """
    expected = []
    for i in range(3):
        expected += [f"{i} {-5 - i} -20", f"{(1 << 32) - 7} -40 0"]
    assert run(source, compiler, program).stdout.splitlines() == [*expected, "closed 77"]


ARGUMENT = "int a(void *c, long e, long v) { return e; }"


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("source", "what"),
    [
        ('SEC("usdt/%s:shop:sales") int a(void *c) { return 0; }', "it has shop:closed, shop:sale"),
        ('SEC("usdt/%s:shop") int a(void *c) { return 0; }', "does not name a static probe"),
        ('SEC("usdt/%s.not:shop:sale") int a(void *c) { return 0; }', "there is no file"),
        (READER % (LATER, 1) + 'SEC("usdt/{0}:shop:sale") int a(void *c) {{ return argument(c, 1); }}'
         'SEC("usdt/{0}:shop:closed") int b(void *c) {{ return argument(c, 1); }}', "room for 1 kinds of sites"),
        (READER.replace("if (kind == 3)", "if (0)").replace("arg->idx_reg_off", "0").replace("arg->scale_bitshift", "0")
         % (EARLIER, 4) + 'SEC("usdt/%s:shop:sale") int a(void *c) { return argument(c, 1); }', "of a later libbpf"),
        ('SEC("\\"exec=%s;func=%%shop:sale arg4\\"") ' + ARGUMENT, "has to be computed"),
        ('SEC("\\"exec=%s;func=%%shop:sale arg6\\"") ' + ARGUMENT, "it has arg0, arg1"),
        ('SEC("\\"func=%%shop:sale arg6\\"") ' + ARGUMENT, "write exec=PATH"),
    ],
)  # fmt: skip
def test_what_cannot_be_had(source, what, program):
    compiler = next(each.values[0] for each in BOTH if not each.marks[0].args[0])
    text = source.replace("{0}", program).replace("{{", "{").replace("}}", "}").replace("%%shop", "%shop")
    text = text.replace("%s:", f"{program}:").replace("%s.", f"{program}.").replace("%s;", f"{program};")
    assert what in run(text, compiler, program, status=1).stderr
