"""What schemathesis makes of the gateway's own document: nothing that it sends makes the gateway fail. See `make clients`."""

from __future__ import annotations

import pytest

from toolhand.gateway.document import document


def test_no_request_makes_it_fail(at):
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    schema = schemathesis.openapi.from_dict(document())

    for operation in schema.get_all_operations():
        strategy = operation.ok().as_strategy()

        @given(case=strategy)
        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        def sent(case: object) -> None:
            assert case.call(base_url=at).status_code < 500  # type: ignore[attr-defined]

        sent()
