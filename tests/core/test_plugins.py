"""What other packages add by entry points, and what is said where one of them is broken."""

from __future__ import annotations

import pytest

from toolhand import Agent
from toolhand.builtin import builtin_tools
from toolhand.cli.app import run_app
from toolhand.core import plugins
from toolhand.core.errors import SettingsError
from toolhand.testing import ScriptedModel

BROKEN = "import a_package_that_is_not_there"
OFFER = '''
from __future__ import annotations
from toolhand import tool

def offer(settings):
    """A tool over what only this function knows."""
    Where = str

    @tool
    def find_lamp(where: Where) -> str:
        """Finds a lamp."""
        return where

    return [find_lamp]
'''


def test_one_broken_package_hides_no_other(own_package):
    own_package(BROKEN, protocols="broken")
    assert {"json", "native"} <= set(plugins.members("protocols", "PROTOCOL"))
    with pytest.raises(
        SettingsError, match=r"no protocol 'jason'; there is: auto, .*json.*\(not loadable: broken\)"
    ):
        Agent(ScriptedModel([]), protocol="jason")
    own_package(BROKEN, models="broken")
    with pytest.raises(
        SettingsError, match=r"there is no model 'nothing:x'.*deepseek.*\(not loadable: broken\)"
    ):
        Agent("nothing:x")


def test_what_is_broken_is_named_with_its_package(own_package):
    package = own_package(BROKEN, protocols="broken")
    empty = own_package("x = 1", protocols="empty")
    with pytest.raises(
        SettingsError, match=f"'broken' in toolhand.protocols of the package {package} .*a_package_that"
    ):
        Agent(ScriptedModel([]), protocol="broken")
    with pytest.raises(SettingsError, match=f"'empty' .*{empty}.* has no 'PROTOCOL'"):
        Agent(ScriptedModel([]), protocol="empty")
    with pytest.raises(SettingsError, match="'broken'"):
        plugins.load("protocols", "broken")


@pytest.mark.parametrize("entry", ["lamps", "lamps:offer"])
def test_built_in_tools_come_from_a_module_or_from_the_function_itself(own_package, entry):
    own_package(OFFER, builtin=entry)
    found = {tool.name: tool for tool in builtin_tools()}
    assert found["find_lamp"](where="here") == "here"


def test_a_probe_takes_a_protocol_of_another_package(own_package, capsys):
    own_package("class PROTOCOL: name = 'own'", protocols="own:PROTOCOL")
    assert run_app(["probe", "nothing:x", "-p", "own"]) != 0
    told = capsys.readouterr().err
    assert "no rung" not in told
    assert "no model 'nothing:x'" in told
    assert run_app(["probe", "nothing:x", "-p", "other"]) != 0
    assert "react, constrained, own" in capsys.readouterr().err
