"""The filter of system calls: a list of what is allowed; all else is refused as if the system had forbidden it.

No new process, no program, no socket but a pair of one's own, no signal but to oneself, no change of a file's mode, times,
owner or attributes (Landlock does not guard those). Sources: seccomp(2), bpf(4), the kernel's syscall tables of x86-64 and
aarch64. A name with "-" does not exist on that machine.
"""

from __future__ import annotations

import ctypes
import os
import struct

from toolhand.jails.kernel import IS_ARM, call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_TABLE: Final = """
read 0 63, write 1 64, open 2 -, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, poll 7 -, lseek 8 62, mmap 9 222,
mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
rt_sigpending 127 136, rt_sigtimedwait 128 137, rt_sigsuspend 130 133, sigaltstack 131 132, pread64 17 67, pwrite64 18 68,
readv 19 65, writev 20 66, preadv 295 69, pwritev 296 70, preadv2 327 286, pwritev2 328 287, access 21 -, pipe 22 -,
pipe2 293 59, select 23 -, pselect6 270 72, ppoll 271 73, sched_yield 24 124, sched_getaffinity 204 123,
mremap 25 216, msync 26 227, mincore 27 232, madvise 28 233, dup 32 23,
dup2 33 -, dup3 292 24, pause 34 -, nanosleep 35 101, clock_nanosleep 230 115, getitimer 36 102, setitimer 38 103,
alarm 37 -, getpid 39 172, getppid 110 173, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176,
getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158,
sendfile 40 71, recvfrom 45 207, recvmsg 47 212, shutdown 48 210, getsockopt 55 209, setsockopt 54 208, getsockname 51 204,
getpeername 52 205, exit 60 93, exit_group 231 94, wait4 61 260, uname 63 160, flock 73 32, fsync 74 82, fdatasync 75 83,
ftruncate 77 46, fadvise64 221 223, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, rename 82 -, renameat 264 38,
renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, readlink 89 -, readlinkat 267 78,
umask 95 166, gettimeofday 96 169, time 201 -, times 100 153, getrlimit 97 163, getrusage 98 165, sysinfo 99 179,
statfs 137 43, fstatfs 138 44, arch_prctl 158 -, futex 202 98, futex_waitv 449 449, set_robust_list 273 99,
get_robust_list 274 100, set_tid_address 218 96, rseq 334 293, membarrier 324 283, restart_syscall 219 128,
clock_gettime 228 113, clock_getres 229 114, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
epoll_pwait 281 22, eventfd2 290 19, openat 257 56, newfstatat 262 79, statx 332 291, faccessat 269 48, faccessat2 439 439,
copy_file_range 326 285, getrandom 318 278, getcpu 309 168, close_range 436 436
"""
_GUARDED: Final = """clone 56 220, clone3 435 435, kill 62 129, tgkill 234 131, socketpair 53 199, sendto 44 206, ioctl 16 29,
fcntl 72 25, prctl 157 167, prlimit64 302 261, execve 59 221"""
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001
_UNKNOWN: Final = 0x00050026
"""As if the kernel were too old to have it: the C library has another way then."""
_KILL: Final = 0x80000000
_LOAD, _EQUAL, _ANY_BIT, _AND, _GIVE = 0x20, 0x15, 0x45, 0x54, 0x06
_THREAD, _NAMESPACES = 0x00010000, 0x7E020080
_SECCOMP, _FILTER, _ALL_THREADS = 277 if IS_ARM else 317, 1, 1


def enter(*, may_start_program: bool) -> None:
    """Puts the filter up, for good.

    Args:
        may_start_program: whether one more program may take this process over. What it may then be, the jail says.

    Raises:
        OSError: when the kernel has no filters.
    """
    program = b"".join(_program(may_start_program=may_start_program))
    kept = ctypes.create_string_buffer(program)
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(kept))
    call(_SECCOMP, _FILTER, _ALL_THREADS, head)


def _program(*, may_start_program: bool) -> list[bytes]:
    guarded, me = _numbers(_GUARDED), os.getpid()
    lines = [
        _line(_LOAD, 4),
        _line(_EQUAL, 0xC00000B7 if IS_ARM else 0xC000003E, 1, 0),
        _line(_GIVE, _KILL),  # a call in another machine's numbers
        _line(_LOAD, 0),
    ]
    for number in _numbers(_TABLE).values():
        lines += _when(number, [_line(_GIVE, _ALLOW)])
    lines += _when(guarded["clone3"], [_line(_GIVE, _UNKNOWN)])
    lines += _when(guarded["clone"], _thread_only())
    lines += _when(guarded["kill"], _one_of(0, me)) + _when(guarded["tgkill"], _one_of(0, me))
    lines += _when(guarded["ioctl"], _one_of(1, 0x5401, 0x5421, 0x541B, 0x5450, 0x5451))
    lines += _when(
        guarded["fcntl"], _one_of(1, *range(8), 1030)
    )  # none of those that send signals to an owner
    lines += _when(guarded["prctl"], _one_of(0, 15, 16))  # a thread's name
    lines += _when(guarded["sendto"], _zero(4))  # no address: only along a pair
    lines += _when(guarded["prlimit64"], _zero(2))  # to ask, not to change
    is_local = _one_of(0, 1)
    stream = [_line(_LOAD, _low(1)), _line(_AND, 0xF), _line(_EQUAL, 1, 0, len(is_local)), *is_local]
    lines += _when(guarded["socketpair"], [*stream, _line(_GIVE, _REFUSE)])
    if may_start_program:
        lines += _when(guarded["execve"], [_line(_GIVE, _ALLOW)])
    return [*lines, _line(_GIVE, _REFUSE)]


def _numbers(table: str) -> dict[str, int]:
    rows = [row.split() for row in table.split(",")]
    return {row[0]: int(row[1 + IS_ARM]) for row in rows if row[1 + IS_ARM] != "-"}


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """The body where the call is that one. It begins with the number loaded, and ends by giving an answer."""
    return [_line(_EQUAL, number, 0, len(body)), *body]


def _low(argument: int) -> int:
    return 16 + 8 * argument  # both machines are little-endian


def _one_of(argument: int, *values: int) -> list[bytes]:
    tests = [_line(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [_line(_LOAD, _low(argument)), *tests, _line(_GIVE, _REFUSE), _line(_GIVE, _ALLOW)]


def _zero(argument: int) -> list[bytes]:
    halves = [_line(_LOAD, _low(argument)), _line(_EQUAL, 0, 0, 3), _line(_LOAD, _low(argument) + 4)]
    return [*halves, _line(_EQUAL, 0, 0, 1), _line(_GIVE, _ALLOW), _line(_GIVE, _REFUSE)]


def _thread_only() -> list[bytes]:
    tests = [_line(_ANY_BIT, _NAMESPACES, 2, 0), _line(_ANY_BIT, _THREAD, 0, 1)]
    return [_line(_LOAD, _low(0)), *tests, _line(_GIVE, _ALLOW), _line(_GIVE, _REFUSE)]
