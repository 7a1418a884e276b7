"""Provider definitions: accepted, compared with those before, refused with the tag of what is wrong."""

import pytest
from support.d.catalog import check, error

TRANSLATOR = "struct o { int q; }; translator struct o < int *x > { q = *x; };"


@pytest.mark.parametrize(
    "text",
    [
        "provider p { };",
        "provider p { probe a(); probe b(void); probe c(int, char *); };",
        "provider p { probe a(int x, char *y) : (char *y, int x); };",
        "provider p { probe long__name(string s); };",
        "provider p { probe a(int); }; provider p { probe a(int); };",
        "provider p { probe a(int); probe b(); }; provider p { probe a(int); };",
        f"{TRANSLATOR} provider p {{ probe a(int *x) : (struct o *x); }};",
    ],
)
def test_accepted(text):
    assert len(check(f"{text} BEGIN {{}}").clauses) == 1


@pytest.mark.parametrize(
    ("text", "tag", "message"),
    [
        ("provider p1 { };", "D_PROV_BADNAME", "provider name may not end with a digit: p1"),
        ("provider a`b { };", "D_PROV_BADNAME", "provider name may not contain scoping operator: a`b"),
        (f"provider {'p' * 64} {{ }};", "D_PROV_BADNAME", f"provider name may not exceed 63 characters: {'p' * 64}"),
        ("provider p { probe a`b(); };", "D_PROV_BADNAME", "probe name may not contain scoping operator: ::a`b"),
        ("provider p { probe a__b(); probe a__b(); };", "D_PROV_PRDUP", "probe redeclared: p:a-b"),
        (
            "provider p { probe a(int); }; provider p { probe b(int); };",
            "D_PROV_INCOMPAT",
            "provider interface mismatch: p\n\t current: probe p:b defined\n\tprevious: probe p:b not defined",
        ),
        (
            "provider p { probe a(int, int); }; provider p { probe a(int); };",
            "D_PROV_INCOMPAT",
            "probe p:a output prototype mismatch:\n\t current: 1 arg\n\tprevious: 2 args",
        ),
        (
            "provider p { probe a(int *); }; provider p { probe a(int); };",
            "D_PROV_INCOMPAT",
            "probe p:a output prototype argument #1 mismatch:\n\t current: int\n\tprevious: int *",
        ),
        (
            "provider p { probe a(int x); }; provider p { probe a(int x) : (int x); };",
            "D_PROV_INCOMPAT",
            "provider interface mismatch: p\n\t current: probe p:a has an output prototype\n"
            "\tprevious: probe p:a has no output prototype",
        ),
        (
            f"provider p {{ probe a({', '.join(['int'] * 256)}); }};",
            "D_PROV_PRARGLEN",
            "probe ::a input prototype exceeds 255 parameters: 256 params used",
        ),
        (
            "struct o { int q; }; provider p { probe a(int x, int *y) : (int x, struct o *y); };",
            "D_PROV_PRXLATOR",
            "translator for p:a output argument #2 from int * to struct o * is not defined",
        ),
        (
            "provider p { probe a(int x) : (int y); };",
            "D_DECL_PROTO_FORM",
            "parameter is not declared in probe output prototype: y, parameter #1",
        ),
        (
            "provider p { probe a(int x) : (int); };",
            "D_DECL_PROTO_NAME",
            "parameter declaration requires a name: parameter #1",
        ),
        (
            "provider p { probe a(int, ...); };",
            "D_DECL_PROTO_VARARGS",
            "probe input prototype may not use a variable-length argument list",
        ),
    ],
)
def test_refused(text, tag, message):
    found = error(text)
    assert (found.tag, found.text) == (tag, message)
