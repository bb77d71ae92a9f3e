"""Binding arguments to a tool: the three grades, spoken values, and words for what did not fit.

`bind` finds the tool and makes the arguments fit or says all that is wrong; `fill_defaults` adds what was not sent;
`feedback` words an error for the model. Reading the text that a call stood in is not done here.
"""

from toolhand.arguments.bind import bind, bind_arguments
from toolhand.arguments.defaults import fill_defaults
from toolhand.arguments.feedback import feedback
from toolhand.arguments.settings import BindSettings

__all__ = ["BindSettings", "bind", "bind_arguments", "feedback", "fill_defaults"]
