"""The walls around a program: one file a jail, each with `enter(room)`, and the filter of system calls that both put up last.

`kernel`, `seccomp`, `landlock` and `namespaces` are loaded inside, and so is `inside/`: they import the standard library, one
another, and nothing else. The host's side: `processes` (closed processes kept ready), `conversing` (a program's frames),
`selftest` (whether a jail holds here), `ring`, `runs`.
"""
