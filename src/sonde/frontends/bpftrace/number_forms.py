"""How integers are shown that stand for times, errors, users or addresses: the forms that types name."""

from __future__ import annotations

FORM = "form:"
"""How the names of types begin whose integers have a form; it follows, and behind a blank what that needs."""
