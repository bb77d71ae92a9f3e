"""Public doubles for the two impure ports, for tests of programs that use Toolhand."""

from toolhand.testing.scripted import ScriptedModel

__all__ = ["ScriptedModel"]
