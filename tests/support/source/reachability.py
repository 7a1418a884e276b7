"""What can be reached over the call graph of sources from where it is entered."""

from collections.abc import Iterable

from support.source.source_definitions import Sources
from support.source.source_references import NAMED, USED, Edge, references


class Reachability:
    """What is reached from `entries`, identifiers of definitions and names of modules.

    A module that is an entry is handed on as a value: whoever names one of its names as an attribute may mean it.
    """

    def __init__(self, sources: Sources, entries: Iterable[str]) -> None:
        self.sources = sources
        self._edges = references(sources)
        self.levels: dict[str, int] = {}
        self._names: set[str] = set()
        self._members: set[tuple[str, str]] = set()
        self._values: set[str] = set()
        self._waiting: dict[str, list[tuple[Edge, int]]] = {}
        self._work: list[tuple[str, int]] = []
        for entry in entries:
            if entry in sources.trees:
                self._edge(Edge("value", entry), USED)
            else:
                self._reach(entry, USED)
                self._reach(f"{entry.partition(':')[0]}:", USED)
        while self._work:
            self._follow(*self._work.pop())

    def _reach(self, identifier: str, level: int) -> None:
        if self.levels.get(identifier, 0) < level:
            self.levels[identifier] = level
            self._work.append((identifier, level))

    def _follow(self, identifier: str, level: int) -> None:
        definition = self.sources.definitions[identifier]
        if definition.kind == "class":
            self._class(identifier, level)
        if definition.kind == "body":
            for name in self.sources.names[definition.module]:
                if _is_special(name):
                    self._reach_name(definition.module, name)
            parent = definition.module.rpartition(".")[0]
            if parent in self.sources.trees:
                self._reach(f"{parent}:", USED)
        for edge in self._edges.get(identifier, ()):
            self._edge(edge, level if definition.kind == "constant" else USED)

    def _class(self, identifier: str, level: int) -> None:
        for base in self.sources.bases[identifier]:
            self._reach(base, level)
        if self.sources.is_protocol(identifier):
            for method in self.sources.members[identifier].values():
                self._reach(method, USED)
        if level < USED:
            return
        for each in self.sources.ancestors(identifier):
            for name, method in self.sources.members[each].items():
                is_wanted = name in self._names or _is_special(name)
                if is_wanted or any((of, name) in self._members for of in self.sources.family(each)):
                    self._reach(method, USED)
            for edge, limit in self._waiting.pop(each, []):
                self._edge(edge, limit)

    def _is_used(self, identifier: str) -> bool:
        return self.levels.get(identifier, 0) == USED

    def _edge(self, edge: Edge, limit: int) -> None:
        for guard in edge.guards:
            if not any(self._is_used(each) for each in guard):
                for each in guard:
                    self._waiting.setdefault(each, []).append((edge, limit))
                return
        match edge.kind:
            case "definition":
                is_class = self.sources.definitions[edge.target].kind in ("class", "constant")
                self._reach(edge.target, min(edge.level, limit) if is_class else USED)
            case "module":
                self._reach(f"{edge.target}:", USED)
            case "value":
                self._module(edge.target)
            case "member":
                self._member(edge.target, edge.name)
            case _:
                self._attribute(edge.name)

    def _member(self, owner: str, name: str) -> None:
        self._members.add((owner, name))
        for each in self.sources.family(owner):
            method = self.sources.members[each].get(name)
            if method and any(self._is_used(of) for of in self.sources.descendants(each)):
                self._reach(method, USED)

    def _module(self, module: str) -> None:
        if module in self._values:
            return
        self._values.add(module)
        self._reach(f"{module}:", USED)
        for name in list(self.sources.names[module]):
            if name in self._names:
                self._reach_name(module, name)

    def _reach_name(self, module: str, name: str) -> None:
        target = self.sources.meaning(module, name)
        if target in self.sources.definitions:
            self._reach(target, USED)

    def _attribute(self, name: str) -> None:
        if name in self._names:
            return
        self._names.add(name)
        for owner, members in self.sources.members.items():
            if name in members and any(self._is_used(of) for of in self.sources.descendants(owner)):
                self._reach(members[name], USED)
        for module in self._values:
            if name in self.sources.names[module]:
                self._reach_name(module, name)

    def unreached(self) -> list[str]:
        """Functions that nothing calls, classes of which nothing makes an object, private constants that nothing
        reads; without the parts of what is itself unreached; and modules that nothing imports."""
        missing = [each for each in self.sources.definitions.values() if not self._is_reached(each.id)]
        identifiers = {each.id for each in missing}
        found = []
        for each in missing:
            around = f"{each.module}:" if "." not in each.name else each.id.rpartition(".")[0]
            if each.kind == "body" or around not in identifiers:
                found.append(each.id)
        return sorted(found)

    def _is_reached(self, identifier: str) -> bool:
        definition = self.sources.definitions[identifier]
        level = self.levels.get(identifier, 0)
        if definition.kind == "constant":
            is_private = definition.name.startswith("_") and not _is_special(definition.name)
            return not is_private or level > 0
        if definition.kind == "class" and self.sources.is_protocol(identifier):
            return level >= NAMED
        return level == USED


def _is_special(name: str) -> bool:
    """What Python itself calls."""
    return name.startswith("__") and name.endswith("__")
