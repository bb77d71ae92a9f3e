"""From a tool to the schema that a provider takes, and from the name on the wire back to the tool's own."""

from __future__ import annotations

from toolhand.tools.forms.exported import Exported, exported, schema
from toolhand.tools.names import own_name, wire_name
from toolhand.tools.visible import visible_parameters

__all__ = ["Exported", "exported", "own_name", "schema", "visible_parameters", "wire_name"]
