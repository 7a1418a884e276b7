"""`#pragma D`: options, attributes, dependencies."""

from __future__ import annotations

import re

from sonde.frontends.d.check.builtins import NAMES as BUILTINS
from sonde.frontends.d.check.prototypes import NAMES as FUNCTIONS
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.check.stability import parse_attributes
from sonde.frontends.d.errors import DError
from sonde.frontends.d.syntax import Pragma

_QUOTE = '"'
_VERSION = r'"[0-9]*(?:\.[0-9]*){0,2}"'


class Pragmas:
    """Carries out the pragmas of one source; `options` collects those for the session, in order."""

    def __init__(self, scope: Scope, options: list[tuple[str, str | None]]) -> None:
        self._scope = scope
        self._options = options
        self._waiting: list[Pragma] = []

    def handle(self, pragma: Pragma) -> None:
        if pragma.name == "error":
            words = "".join(f"{word.strip(_QUOTE)} " for word in pragma.words if not word.isdigit())
            raise DError("D_PRAGERR", f"#error: {words}", pragma.position)
        if pragma.name == "option":
            self._option(pragma)
        elif pragma.name == "attributes":
            self._attributes(pragma)
        elif pragma.name == "depends_on":
            self._depends_on(pragma)
        elif pragma.name == "binding":
            self._binding(pragma)
        elif pragma.name not in ("ident", "line"):
            raise DError("D_PRAGMA_INVAL", f"invalid D pragma: {pragma.name}", pragma.position)

    def require_used(self) -> None:
        """At the end of the source every name given attributes must have turned up."""
        for pragma in self._waiting:
            if not self._is_known(pragma.words[1]):
                raise DError("D_PRAGMA_UNUSED", f"unused #pragma {pragma.name}", pragma.position)

    def _option(self, pragma: Pragma) -> None:
        if not pragma.words:
            raise _malformed(pragma, "<option>=<val>")
        if len(pragma.words) > 1:
            text = f"superfluous arguments specified for #pragma {pragma.name}"
            raise DError("D_PRAGMA_MALFORM", text, pragma.position)
        name, equals, text = pragma.words[0].partition("=")
        value = text if equals else None
        try:
            parsed = self._scope.options.parse_option(name, value)
        except ValueError as error:
            what = f"'{name}'" if value is None else f"'{name}' to '{value}'"
            told = f"failed to set option {what}: {error}"
            hint, names = getattr(error, "hint", ""), getattr(error, "names", ())
            raise DError("D_PRAGMA_OPTSET", told, pragma.position, hint, names) from None
        if name in ("strsize", "scratchsize") and isinstance(parsed, int):
            setattr(self._scope, name, parsed)
        if name == "amin":
            self._scope.amin = parse_attributes(text)
        self._accept(name, bool(parsed))
        self._options.append((name, value))

    def _accept(self, name: str, value: bool) -> None:
        """Options that change what is accepted from here on."""
        options = self._scope.options
        if name == "zdefs":
            self._scope.options = options._replace(zero_probes=value)
        elif name == "argref":
            self._scope.options = options._replace(unused_arguments=value)
        elif name == "empty":
            self._scope.options = options._replace(empty=value)

    def _depends_on(self, pragma: Pragma) -> None:
        """A program may say which modules and providers it needs, never which libraries: those are always there."""
        if not is_satisfied(pragma, self._scope):
            raise DError("D_PRAGMA_DEPEND", f"program requires {' '.join(pragma.words)}", pragma.position)
        if pragma.words[0] == "library":
            text = "main program may not explicitly depend on a library"
            raise DError("D_PRAGMA_DEPEND", text, pragma.position)

    def _attributes(self, pragma: Pragma) -> None:
        if len(pragma.words) < 2 or any(word.startswith(_QUOTE) for word in pragma.words[:2]):
            raise _malformed(pragma, "<attributes> <ident>")
        attributes = parse_attributes(pragma.words[0])
        if attributes is None:
            text = f"invalid attributes specified by #pragma {pragma.name}"
            raise DError("D_PRAGMA_INVAL", text, pragma.position)
        if pragma.words[1] == "provider":
            self._of_provider(pragma)
            return
        self._refuse_foreign(pragma)
        self._scope.attributes[pragma.words[1]] = attributes
        self._waiting.append(pragma)

    def _of_provider(self, pragma: Pragma) -> None:
        """How stable a part of a provider's descriptions is; of one that is not there nothing can be said."""
        if len(pragma.words) < 4:
            raise _malformed(pragma, "<attributes> <ident>")
        name, part = pragma.words[2:4]
        if part not in ("provider", "module", "function", "name", "args") and self._is_provider(name):
            text = f'invalid component "{name}" in attribute #pragma for provider {part}'
            raise DError("D_PRAGMA_INVAL", text, pragma.position)

    def _is_provider(self, name: str) -> bool:
        return name in self._scope.providers or self._scope.catalog.offers("provider", name)

    def _binding(self, pragma: Pragma) -> None:
        """The version since which the program's own name is there."""
        words = pragma.words
        if len(words) < 2 or not words[0].startswith(_QUOTE) or words[1].startswith(_QUOTE):
            raise _malformed(pragma, '"version" <ident>')
        if not re.fullmatch(_VERSION, words[0]):
            raise DError(
                "D_PRAGMA_INVAL", f"invalid version string specified by #pragma {pragma.name}", pragma.position
            )
        self._refuse_foreign(pragma)
        if not self._is_known(words[1]):
            self._waiting.append(pragma)

    def _refuse_foreign(self, pragma: Pragma) -> None:
        """What D itself defines is not the program's to describe."""
        if pragma.words[1] in BUILTINS or pragma.words[1] in FUNCTIONS:
            text = f"#pragma {pragma.name} cannot modify entity defined outside program scope"
            raise DError("D_PRAGMA_SCOPE", text, pragma.position)

    def _is_known(self, name: str) -> bool:
        scope = self._scope
        return scope.find_inline(name) is not None or any(
            (where, name) in scope.variables for where in ("global", "self", "this")
        )


def _malformed(pragma: Pragma, form: str) -> DError:
    return DError("D_PRAGMA_MALFORM", f"malformed #pragma {pragma.name} {form}", pragma.position)


def is_satisfied(pragma: Pragma, scope: Scope) -> bool:
    """Whether what a `depends_on` names is there; libraries are looked after by who reads them."""
    if len(pragma.words) < 2 or any(word.startswith(_QUOTE) for word in pragma.words[:2]):
        raise _malformed(pragma, "<class> <name>")
    what, name = pragma.words[:2]
    if what not in ("module", "provider", "library"):
        raise DError("D_PRAGMA_INVAL", f"invalid class {what} specified by #pragma {pragma.name}", pragma.position)
    return what == "library" or (what == "provider" and name in scope.providers) or scope.catalog.offers(what, name)
