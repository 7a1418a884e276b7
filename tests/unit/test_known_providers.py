"""Each provider has all that belongs to one: identifiers of its own, attributes, and its words in the reference."""

import importlib
import itertools
import re
from pathlib import Path

import pytest

import sonde
from sonde.frontends.d.check.stability import PROVIDERS
from sonde.session.known_providers import BLOCKS, DERIVED

ROOT = Path(sonde.__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text()


def test_no_two_providers_have_the_same_identifiers():
    ascending = sorted(BLOCKS.values())
    for block, following in itertools.pairwise(ascending):
        assert block.first <= block.last < following.first


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_a_provider_has_attributes(name):
    """Without them it would pass for one of a process."""
    assert name in PROVIDERS


def test_only_providers_have_attributes():
    assert PROVIDERS.keys() <= BLOCKS.keys()


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_the_reference_names_a_provider(name):
    assert re.search(rf"(`|^### .*\b){name}\b", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_provider_is_a_table_of_definitions(name):
    assert importlib.import_module(f"sonde.providers.derived.{name}").DEFINITIONS
