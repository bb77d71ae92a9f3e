import pytest

from toolhand.parsing.simple_yaml import YamlError, read_yaml


def test_maps_lists_blocks_and_scalars():
    text = 'name: probe\nargs:\n  list:\n    - a\n    - "b: c"\n  body: |\n    one\n    two\n  n: 3\n  on: true\n  flow: [1, 2]\n  rows:\n    - x: 1\n      y: 2\n'
    assert read_yaml(text) == {
        "name": "probe",
        "args": {
            "list": ["a", "b: c"],
            "body": "one\ntwo\n",
            "n": 3,
            "on": True,
            "flow": [1, 2],
            "rows": [{"x": 1, "y": 2}],
        },
    }


@pytest.mark.parametrize("text", ["plain words", "a: 1\n   b: 2", 'a: "open'])
def test_refuses_what_it_is_not(text):
    with pytest.raises(YamlError):
        read_yaml(text)
