"""Tools from an OpenAPI document: each operation becomes one. Entry: `Toolset.from_openapi`, or `openapi_tools` here.

`document` reads the file and its references, `operations` lists what it offers, `schemas` makes JSON Schema of its schemas,
`inputs` lays an operation's parameters and body out for a model, `writing` and `bodies` put a call's values on the wire,
`security` adds the secrets, `calling` sends, `failures` says what went wrong.
"""

from toolhand.openapi.document import Document, fetch_document, read_document
from toolhand.openapi.making import openapi_tools

__all__ = ["Document", "fetch_document", "openapi_tools", "read_document"]
