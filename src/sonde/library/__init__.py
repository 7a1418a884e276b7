"""What `import sonde` offers: each name is imported from here when it is first used. And what a tool that stands on it,
as the command does, takes from the package's own additions to the standard library."""

from sonde.children import open_nothing as open_nothing
from sonde.report.output import write_all as write_all
from sonde.typed import TYPE_CHECKING as TYPE_CHECKING
from sonde.typed import BinaryIO as BinaryIO
from sonde.typed import NamedTuple as NamedTuple
from sonde.typed import NoReturn as NoReturn
from sonde.visible import single_line as single_line
from sonde.visible import visible as visible
from sonde.visible import visible_lines as visible_lines
