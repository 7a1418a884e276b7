"""What building a package adds to pyproject.toml: the package's page and addresses, and compiled modules."""

from __future__ import annotations

import compileall
import contextlib
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_TREE, _CHANGES, _ISSUES = "/blob/main/", "/commits/main", "/issues"
"""Below the address of the repository, as code hosts have them."""

_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://)([^)\s]+)\)")
"""A link into the sources."""

_POINTER = re.compile(r"\s+\(\[(?:more|how)\]\((?!https?://)[^)\s]+\)\)")
"""One that says nothing by itself."""

_OF_THE_SOURCES = re.compile(r"^Test: .*?\n\n(?=The first one )", re.MULTILINE | re.DOTALL)


class PackagePage(MetadataHookInterface):
    """The README as the package's page, and addresses if `repository` is set."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = self.config.get("repository", "").rstrip("/")
        text = package_readme(Path(self.root, "README.md").read_text(encoding="utf-8"), metadata["name"], repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = addresses(repository)


class CompileModules(BuildHookInterface[Any]):
    """An editable installation has its modules compiled, as pip does it with those of any other, and bundled.

    Importing 300 modules that are not takes 0.3 s at every start where PYTHONDONTWRITEBYTECODE keeps Python from doing
    it. Hatchling calls this for each wheel; `version` is "editable" for that of an editable installation.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            sources = Path(self.root, "src")
            compileall.compile_dir(sources, quiet=2)
            sys.path.insert(0, str(sources))
            from sonde.cli.module_bundle import write_bundle

            # Without a bundle a start takes some milliseconds more.
            with contextlib.suppress(OSError):
                write_bundle(str(sources / "sonde"))


def package_readme(text: str, name: str, repository: str) -> str:
    """The README for people who have the package and not the sources: it is installed by name, and links lead into
    the repository, or are plain text where it has no address."""
    text = _OF_THE_SOURCES.sub("", text).replace("pip install -q . ", f"pip install -q {name} ")
    if repository:
        return _LINK.sub(lambda link: f"[{link[1]}]({repository}{_TREE}{link[2]})", text)
    return _LINK.sub(r"\1", _POINTER.sub("", text))


def addresses(repository: str) -> dict[str, str]:
    """The project's addresses by their labels, none without a repository."""
    if not repository:
        return {}
    return {
        "Documentation": f"{repository}{_TREE}docs/tutorial.md",
        "Source": repository,
        "Issues": f"{repository}{_ISSUES}",
        "Changes": f"{repository}{_CHANGES}",
    }
