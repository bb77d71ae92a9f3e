"""What programs call things has a word in Chinese, each of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import toolhand
from toolhand.arguments import costs as binding
from toolhand.core.errors import ErrorCode, ModelFault
from toolhand.core.messages import FinishReason
from toolhand.observability.audit import Decision
from toolhand.page.kinds import CODES, FIXES, code_word, fix_word
from toolhand.page.words import WORDS
from toolhand.parsing import costs as reading
from toolhand.run import Stopped

SOURCE = Path(toolhand.__file__).parent


def test_every_liberty_has_its_words():
    taken = {*binding.COSTS, *reading.COSTS}
    for file in SOURCE.rglob("*.py"):
        taken.update(re.findall(r'\b[fF]ix\(\s*(?:kind=)?"(\w+)"', file.read_text("utf-8")))
    assert taken <= FIXES.keys()
    assert not FIXES.keys() - taken
    assert fix_word("near_key", "en") == "near key"
    assert fix_word("of_tomorrow", "zh") == "of_tomorrow"


def test_every_code_has_its_words():
    told = {*ErrorCode, *ModelFault, *get_args(Stopped), *get_args(FinishReason)} - {
        "answered",
        "stop",
        "tool_calls",
    }
    for file in (SOURCE / "ladder").rglob("*.py"):
        told.update(re.findall(r'_down\("([\w ]+)"\)', file.read_text("utf-8")))
    assert told <= CODES.keys()
    assert code_word("timeout", "en") == "timeout"


def test_every_decision_of_the_audit_has_its_words():
    for decision in get_args(Decision):
        assert f"decision_{decision}" in WORDS
