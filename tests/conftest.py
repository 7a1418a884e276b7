"""What all tests share: a slow machine fails no property."""

from hypothesis import settings

settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")
