"""Functions of the kernel as Python values."""

import pytest
from support.machine.access import require

import sonde


def test_a_function_has_the_types_and_names_of_its_source():
    """fs/read_write.c"""
    require("btf_vmlinux")
    parameters = (("file", "struct file *"), ("buf", "char *"), ("count", "size_t"), ("pos", "loff_t *"))
    assert sonde.kernel_function("vfs_read") == sonde.KernelFunction("vfs_read", "ssize_t", parameters)


def test_all_parameters_are_declared_where_none_is_named():
    require("btf_vmlinux")
    names = [name for name, _ in sonde.kernel_function("vfs_read").parameters]
    assert sonde.declarations("kernel", "vfs_read") == sonde.declarations("kernel", "vfs_read", names)
    with pytest.raises(sonde.Error, match="has no function no_such_function"):
        sonde.declarations("kernel", "no_such_function", ["x"])
