"""Modules of the package: where they are, in fewer steps than Python takes, and executed at the first use of one of
their names.

A start imports hundreds. Python looks for all kinds of files, and puts paths together anew at each step. A module of
this package is NAME.py or NAME/__init__.py in its package's directory. The compiled modules are in one file, which is
mapped (`module_bundle.py`). One that is not there, or was made of another source, is looked for beside the module
(PEP 3147); where that is not so either, as in a zip file, Python's own finders and loaders do it.

`from package import module` makes a module object without a look at its file, which has no names but its own. The first
look at any other name executes the module, under a lock of its own: threads that meet there wait until all of its names
are there. From then on it is an ordinary module, and a look at a name costs what it always does. `from package.module
import name` executes it at once. PEP 810 has the same for `lazy from package import module`.
"""

import marshal
import os
import stat
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, PathFinder, SourceFileLoader
from _imp import _fix_co_filename  # type: ignore[attr-defined]
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from types import CodeType, ModuleType
    from typing import Any
else:
    ModuleType = type(sys)  # types has it, too, and is a module more at each start

_STATE = "__lazy__"
"""The module's name for its lock, for the function that gives its specification, and for its classes: while it has not
been executed, and when it has."""

_OWN = ("__spec__", "__loader__", "__package__", "__file__", "__cached__")
"""Attributes that a module has from the start, besides its name."""


class LazyModule(ModuleType):
    """A module whose code has not been executed."""

    def __getattr__(self, name: str) -> object:
        # Python and its tools look for special names of modules, which a module of this package has from the start.
        if name in _OWN:
            state = self.__dict__.get(_STATE)
            if state is not None and "__spec__" not in self.__dict__:
                give_attributes(self, state[1](self.__name__))
            # Another thread may have executed the module meanwhile.
            if name in self.__dict__:
                return self.__dict__[name]
        if name.startswith("__") and name not in ("__all__", "__getattr__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        execute(self)
        return getattr(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        # The module's code would set the name anew. Modules of a package are its attributes.
        if not name.startswith("__") and not isinstance(value, ModuleType):
            execute(self)
        ModuleType.__setattr__(self, name, value)

    def __dir__(self) -> "list[str]":
        execute(self)
        return dir(self)


class _Executing(ModuleType):
    """A module whose code is being executed: other threads than that which does so wait for its end."""

    def __getattribute__(self, name: str) -> object:
        state = _names(self).get(_STATE)
        if state is not None:
            with state[0]:
                if type(self) is _Executing:
                    return ModuleType.__getattribute__(self, name)
        return getattr(self, name)


def make(
    name: str, specify: "Callable[[str], ModuleSpec]", kind: type[LazyModule] = LazyModule, executed: type = ModuleType
) -> LazyModule:
    """A module of this full name, whose specification is asked for when it is executed. Its loader executes it by
    `execute(module)`. `kind`, `executed`: its class before, and after."""
    module = kind.__new__(kind)
    names = module.__dict__
    names["__name__"] = name
    names[_STATE] = RLock(), specify, kind, executed
    return module


def give_attributes(module: ModuleType, spec: "ModuleSpec") -> None:
    """Set the attributes that Python's import system sets (importlib._bootstrap._init_module_attrs)."""
    names = _names(module)
    names["__loader__"], names["__package__"] = spec.loader, spec.parent
    names["__file__"], names["__cached__"] = spec.origin, spec.cached
    names["__spec__"] = spec


def execute(module: ModuleType) -> None:
    """Execute a lazy module. Raises what its code raises, after which it is as it was."""
    names = _names(module)
    state = names.get(_STATE)
    if state is None:
        return
    lock, specify, kind, executed = state
    with lock:
        if type(module) is not kind:
            return
        spec = names.get("__spec__")
        if spec is None:
            spec = specify(names["__name__"])
            give_attributes(module, spec)
        module.__class__ = _Executing
        try:
            spec.loader.execute(module)
        except BaseException:
            _take_back(module, kind)
            raise
        module.__class__ = executed
        del names[_STATE]


def _names(module: ModuleType) -> "dict[str, Any]":
    found: dict[str, Any] = ModuleType.__getattribute__(module, "__dict__")
    return found


def _take_back(module: ModuleType, kind: type) -> None:
    """Make a module lazy whose execution has not ended well."""
    names = _names(module)
    own = {name: names[name] for name in ("__name__", "__path__", _STATE, *_OWN) if name in names}
    names.clear()
    names.update(own)
    module.__class__ = kind


def is_executed(module: ModuleType) -> bool:
    """The end of its execution, or of an ordinary import."""
    return not issubclass(type(module), (LazyModule, _Executing))


def forget_other_threads() -> None:
    """In a forked process: modules that another thread was executing are executed anew, and no lock is held by it."""
    for module in [each for each in sys.modules.values() if not is_executed(each)]:
        names = _names(module)
        state = names.get(_STATE)
        if state is not None and not state[0]._is_owned():
            names[_STATE] = RLock(), *state[1:]
            if type(module) is _Executing:
                _take_back(module, state[2])


_PACKAGE = __name__.partition(".")[0] + "."

_COMPILED = f".{sys.implementation.cache_tag}.pyc"

_AT_ONCE = 1 << 16
"""Bytes that are read of a compiled module; one that is larger Python reads."""

BUNDLE_HEADER_SIZE = 24
"""Of a bundle: Python's magic number at 0, at 8 the bundle's size, at 16 that of its marshalled index, which follows,
each as 8 bytes. The index has by the path of each source from the package's directory its time and size, and offset
and size of the marshalled code."""

Index = dict[str, tuple[int, int, int, int]]


def install() -> None:
    """Ask the finder for each module of the package, before Python's own."""
    if installed() is None:
        finder = Finder()
        sys.meta_path.insert(0, finder)
        package = sys.modules[_PACKAGE[:-1]]
        package.__class__ = finder.package_class
        os.register_at_fork(after_in_child=forget_other_threads)


def installed() -> "Finder | None":
    return next((each for each in sys.meta_path if isinstance(each, Finder)), None)


def package_folder() -> str:
    """The package's directory."""
    return __file__.rpartition("/")[0]


def bundle_path(folder: str) -> str:
    return f"{folder}/__pycache__/modules.{sys.implementation.cache_tag}.bundle"


def compiled_header(time: int, size: int) -> bytes:
    """Of a module that was compiled from a source of this time and size, not of this content: Python's magic number,
    flags, time and size (PEP 552)."""
    return MAGIC_NUMBER + bytes(4) + time.to_bytes(4, "little") + size.to_bytes(4, "little")


def _bundle(folder: str) -> "tuple[memoryview, Index]":
    """The marshalled codes and the index. Both are empty if there is no bundle of this Python."""
    import mmap  # programs that import sonde need it later, or never

    try:
        file = os.open(bundle_path(folder), os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = memoryview(mmap.mmap(file, 0, mmap.MAP_PRIVATE, mmap.PROT_READ))
        finally:
            os.close(file)
    except (OSError, ValueError):
        return memoryview(b""), {}
    size, of_index = (int.from_bytes(content[at : at + 8], "little") for at in (8, 16))
    if content[:4] != MAGIC_NUMBER or size != len(content):
        return memoryview(b""), {}
    begin = BUNDLE_HEADER_SIZE + of_index
    return content[begin:], marshal.loads(content[BUNDLE_HEADER_SIZE:begin])


def _package_classes(finder: "Finder") -> "tuple[type[ModuleType], type[LazyModule]]":
    """Of packages whose modules are made when they are first named, as Python's way to a module takes five times as
    long; and of such that have not been executed themselves."""

    class Package(ModuleType):
        def __getattr__(self, name: str) -> ModuleType:
            found = finder.make(self, name)
            if found is None:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            return found

    class LazyPackage(LazyModule):
        def __getattr__(self, name: str) -> object:
            found = finder.make(self, name)
            return super().__getattr__(name) if found is None else found

    return Package, LazyPackage


class Finder:
    """Asked by Python for each module before its own finders (importlib.abc.MetaPathFinder). `missed` is set where
    there were compiled modules that the bundle does not have."""

    def __init__(self) -> None:
        self.package_class, self._lazy_package_class = _package_classes(self)
        self._folder = package_folder()
        self._files: dict[str, frozenset[str]] = {}
        self._compiled: tuple[memoryview, Index] | None = None
        self._is_usual = not sys.flags.optimize and sys.pycache_prefix is None
        self.missed = False

    def make(self, package: ModuleType, name: str) -> "ModuleType | None":
        """A module of a package in a directory, which becomes the package's attribute; None if it has none."""
        if name.startswith("__") or f"{name}.py" not in self._listed(package.__path__[0]):
            return None
        full = f"{package.__name__}.{name}"
        # Another thread may be here, too: there is one module.
        module = sys.modules.setdefault(full, make(full, self._specify))
        package.__dict__[name] = module
        return module

    def lazy_package(self, spec: ModuleSpec) -> ModuleType:
        return _made(spec, self._lazy_package_class, self.package_class)

    def _specify(self, name: str) -> ModuleSpec:
        """The specification of a module that has been made."""
        package = sys.modules[name.rpartition(".")[0]]
        spec = self.find_spec(name, package.__path__)
        assert spec is not None
        return spec

    def _listed(self, directory: str) -> "frozenset[str]":
        """The names in a package's directory, none where it is in a file."""
        files = self._files.get(directory)
        if files is None:
            try:
                files = frozenset(os.listdir(directory))
            except OSError:
                files = frozenset()
            self._files[directory] = files
        return files

    def find_spec(self, name: str, path: "Sequence[str] | None", _target: object = None) -> ModuleSpec | None:
        if not path or not name.startswith(_PACKAGE):
            return None
        directory, last = path[0], name.rpartition(".")[2]
        files = self._listed(directory)
        if f"{last}.py" in files:
            return self._spec(name, f"{directory}/{last}.py", f"{directory}/__pycache__/{last}{_COMPILED}", None)
        if last in files:
            source = f"{directory}/{last}/__init__.py"
            if _about(source):
                compiled = f"{directory}/{last}/__pycache__/__init__{_COMPILED}"
                return self._spec(name, source, compiled, f"{directory}/{last}")
        return None if files else _elsewhere(name, path)

    def _spec(self, name: str, source: str, compiled: str, package: str | None) -> ModuleSpec:
        spec = ModuleSpec(name, _Loader(name, source, self), origin=source)
        spec.has_location = True
        if self._is_usual:
            spec.cached = compiled
        if package is not None:
            spec.submodule_search_locations = [package]
        return spec

    def code(self, source: str) -> "CodeType | None":
        """The compiled code of a file, if that is known and belongs to its content."""
        about = _about(source) if self._is_usual else None
        if about is None:
            return None
        if self._compiled is None:
            self._compiled = _bundle(self._folder)
        codes, index = self._compiled
        made_of = int(about.st_mtime) & 0xFFFF_FFFF, about.st_size & 0xFFFF_FFFF
        found = index.get(source[len(self._folder) + 1 :])
        if found is not None and found[:2] == made_of:
            return _of(source, codes[found[2] : found[2] + found[3]])
        beside = _code(source, made_of)
        self.missed |= beside is not None
        return beside


def _elsewhere(name: str, path: "Sequence[str]") -> ModuleSpec | None:
    """A module of a package that is in a zip file or the like, by Python's finder for it."""
    spec = PathFinder.find_spec(name, path)
    if spec is not None and spec.loader is not None and spec.submodule_search_locations is None:
        spec.loader = _LoaderElsewhere(spec.loader)  # type: ignore[assignment]
    return spec


def _about(path: str) -> os.stat_result | None:
    """The status of a regular file, None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _made(spec: ModuleSpec, *kinds: "type[Any]") -> ModuleType:
    """A lazy module whose specification is known."""
    module = make(spec.name, lambda name: spec, *kinds)
    give_attributes(module, spec)
    return module


class _Loader(SourceFileLoader):
    """Python's, but for the way to the compiled code, and the time of the execution."""

    def __init__(self, name: str, source: str, finder: "Finder") -> None:
        super().__init__(name, source)
        self._finder = finder

    def get_code(self, fullname: str) -> "CodeType | None":
        return self._finder.code(self.path) or super().get_code(fullname)

    def create_module(self, spec: ModuleSpec) -> "ModuleType | None":
        # What is imported by its own name has one looked at next.
        return None if spec.submodule_search_locations is None else self._finder.lazy_package(spec)

    def exec_module(self, module: ModuleType) -> None:
        if is_executed(module):
            super().exec_module(module)

    def execute(self, module: ModuleType) -> None:
        super().exec_module(module)


class _LoaderElsewhere:
    """Another loader, but for the time of the execution."""

    def __init__(self, loader: "Loader") -> None:
        self._loader = loader
        self.execute = loader.exec_module

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _made(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing, before the module is used."""


def _code(source: str, made_of: tuple[int, int]) -> "CodeType | None":
    """The compiled code beside a source of this time and size, None if there is none."""
    directory, _, name = source.rpartition("/")
    try:
        file = os.open(f"{directory}/__pycache__/{name[:-3]}{_COMPILED}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(file, _AT_ONCE)
    finally:
        os.close(file)
    header = compiled_header(*made_of)
    if not content.startswith(header) or len(content) == _AT_ONCE:
        return None
    return _of(source, memoryview(content)[len(header) :])


def _of(source: str, marshalled: memoryview) -> "CodeType":
    """The code of a file, which tracebacks name where it is, wherever it was compiled."""
    code: CodeType = marshal.loads(marshalled)
    _fix_co_filename(code, source)
    return code
