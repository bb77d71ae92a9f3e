"""The walls: one file a jail, each with `enter(room)`, and the filter of system calls that both put up last.

These files are loaded inside, in a process that has nothing of Toolhand but them: they import only the standard library.
"""
