"""What all tests share: a slow machine fails no property, and what sonde keeps between runs is kept apart."""

import os

import pytest
from hypothesis import settings

settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """The cache directory of whoever runs the tests is left alone."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
