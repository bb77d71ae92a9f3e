"""What `Toolset.from_openapi` can be told beside the document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypedDict

from toolhand.openapi.operations import Operation
from toolhand.openapi.security import SecretSource


class OpenAPIOptions(TypedDict, total=False):
    """Which operations become tools, and what the program adds to their requests.

    Args:
        base_url: the service's address, instead of all servers that the document names. The document says where requests and
            secrets go: give this for one that you do not trust.
        variables: values for the variables in the server's address.
        secrets: by security scheme: a key or token, `(user, password)`, or a function that gives one, which may be async. What
            is not given is looked up in the environment as `TOOLHAND_OPENAPI_` and the scheme's name in capitals. No secret is
            ever shown to a model.
        headers: to be added to every request; a parameter of that name is not the model's any more.
        fixed: parameters that the program fills in and the model does not see, as the API calls them: a value, a function
            that gives one, or `Injected(key)` for a fact of the run.
        tags: only operations with one of these tags.
        methods: only operations of these methods.
        operations: only these, by `operationId`, tool name, or place such as "GET /pets/{id}".
        keep: only operations for which this is true.
        deprecated: also operations that are deprecated.
        timeout: seconds for each call; 60 by default.
        retries: how often a call that failed in passing is tried again, where that is safe.
        untrusted: whether what the service answers is marked for a model as written by others; True by default. False for a
            service whose every text is your own.
    """

    base_url: str
    variables: Mapping[str, str]
    secrets: Mapping[str, SecretSource]
    headers: Mapping[str, str]
    fixed: Mapping[str, Any]
    tags: str | Collection[str]
    methods: str | Collection[str]
    operations: str | Collection[str]
    keep: Callable[[Operation], bool]
    deprecated: bool
    timeout: float
    retries: int
    untrusted: bool
