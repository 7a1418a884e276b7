"""The schema of lines of JSON, as the page for users has it."""

import json
import re

from support.places import PAGES

PAGE = PAGES / "data.md"
SCHEMA = json.loads(re.findall(r"```json\n(\{\n.*?)```", PAGE.read_text(), re.DOTALL)[-1])
