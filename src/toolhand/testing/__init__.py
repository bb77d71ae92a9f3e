"""Public doubles for the two impure ports and for the clock, for tests of programs that use Toolhand."""

from toolhand.testing.clock import FakeClock
from toolhand.testing.scripted import ScriptedModel

__all__ = ["FakeClock", "ScriptedModel"]
