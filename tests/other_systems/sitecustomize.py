"""Take from this package what Windows or macOS lacks; read by an interpreter that has this folder in PYTHONPATH.

RIDERLESS_TEST_SYSTEM is ``win32`` or ``darwin``. Only code of riderless meets the gaps, as other packages have a branch
for each system. Files below the temporary folder behave as on Windows for everybody: an open file cannot be replaced or
removed, a folder cannot be opened, a name has no colon, and only a file that is open for writing can be synced.
"""

import builtins
import errno
import fcntl
import importlib
import io
import multiprocessing.context
import os
import posix
import re
import shutil
import subprocess
import sys
import tempfile
from types import ModuleType
from typing import Any

SYSTEM = os.environ["RIDERLESS_TEST_SYSTEM"]
WINDOWS = SYSTEM == "win32"
_BINARY, _TEMPORARY_FILE = 1 << 29, 1 << 30  # bits that Linux does not use
if WINDOWS:
    os.O_BINARY, os.O_TEMPORARY = _BINARY, _TEMPORARY_FILE

_GONE_MODULES = {
    "win32": {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"},
    "darwin": set(),
}[SYSTEM]

# What the module ``nt`` has in CPython 3.11, which is all that ``os`` has there of the system.
_NT = set(
    re.findall(
        r"\w+",
        """
    DirEntry F_OK O_APPEND O_CREAT O_EXCL O_RDONLY O_RDWR O_TRUNC O_WRONLY R_OK W_OK X_OK EX_OK abort access chdir chmod
    close closerange cpu_count device_encoding dup dup2 environ error execv execve fspath fstat fsync ftruncate
    get_handle_inheritable get_inheritable get_terminal_size getcwd getcwdb getlogin getpid getppid isatty kill link
    listdir lseek lstat mkdir open pipe putenv read readlink remove rename replace rmdir scandir set_inheritable spawnv
    stat stat_result statvfs_result strerror symlink system terminal_size times times_result truncate umask
    uname_result unlink unsetenv urandom utime waitpid waitstatus_to_exitcode write
    """,
    )
)
_LINUX_ONLY = {
    "os": {n for n in dir(os) if n.startswith(("sched_s", "sched_g", "memfd", "eventfd", "MFD_", "SCHED_", "EFD_"))}
    | {"posix_fadvise", "posix_fallocate", "splice", "copy_file_range", "getrandom", "preadv", "pwritev"},
    "select": {n for n in dir(importlib.import_module("select")) if n.startswith(("epoll", "EPOLL"))},
    "signal": {"sigtimedwait", "sigwaitinfo", "SIGSTKFLT", "SIGPWR", "SIGPOLL"},
    "time": {"CLOCK_BOOTTIME", "CLOCK_TAI", "pthread_getcpuclockid"},
}
_WINDOWS_SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}


def _gone(name: str, module: ModuleType) -> set[str]:
    """Names of a module that the system lacks."""
    if not WINDOWS:
        return _LINUX_ONLY.get(name, set())
    if name == "os":
        return ({n for n in dir(posix) if not n.startswith("_")} - _NT) | {"fork", "forkpty", "register_at_fork"}
    if name == "signal":
        signals = {n for n in dir(module) if n.startswith("SIG")} - _WINDOWS_SIGNALS
        return signals | {n for n in dir(module) if n.startswith(("pthread", "sig", "setitimer", "pause", "alarm"))} - {
            "signal"
        }
    if name == "time":
        return {n for n in dir(module) if n.startswith(("clock_", "CLOCK_", "pthread", "tzset"))}
    if name == "select":
        return {n for n in dir(module) if n.startswith(("epoll", "EPOLL", "poll", "POLL"))}
    if name == "mmap":
        return {n for n in dir(module) if n.startswith(("PROT_", "MAP_", "MADV_"))}
    if name == "socket":
        return {"AF_UNIX", "AF_PACKET", "SCM_RIGHTS", "send_fds", "recv_fds", "SO_REUSEPORT"}
    if name == "multiprocessing.context":
        return {n for n in dir(module) if n.startswith("Fork")}
    return set()


class _Module(ModuleType):
    """Module as the other system has it."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _gone=_gone(module.__name__, module))

    def __getattr__(self, name: str) -> Any:
        if name in self._gone:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name == "platform" and self.__name__ == "sys":
            return SYSTEM
        return getattr(self._module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._module, name, value)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._module) if name not in self._gone]


_CHANGED = {"os", "sys", "signal", "time", "select", "mmap", "socket", "multiprocessing.context"}
_changed: dict[str, _Module] = {}
_import = builtins.__import__


def _is_ours(globals: Any) -> bool:
    """Are these the names of a module of riderless, run as a program or not?"""
    package = str((globals or {}).get("__package__", ""))
    return package == "riderless" or package.startswith("riderless.")


def _import_there(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """Import as on the other system, where riderless asks."""
    if not _is_ours(globals):
        return _import(name, globals, locals, fromlist, level)
    if name.split(".")[0] in _GONE_MODULES:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = _import(name, globals, locals, fromlist, level)
    if name in _CHANGED and (fromlist or "." not in name):
        return _changed.setdefault(name, _Module(module))
    return module


def _asked_by_riderless() -> bool:
    return _is_ours(sys._getframe(2).f_globals)


def _no_system_folders(path: Any) -> None:
    if isinstance(path, (str, os.PathLike)) and str(path).startswith(("/proc", "/sys/")):
        caller = sys._getframe(2).f_globals.get("__name__", "")
        if caller.startswith(("riderless.", "pathlib", "glob")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


_TEMPORARY = os.path.realpath(tempfile.gettempdir())
_really = {name: getattr(os, name) for name in ("open", "fsync", "readlink", "scandir", "listdir")}


def _ours(path: Any) -> str:
    """Real path of a file below the temporary folder; empty for all others."""
    if not isinstance(path, (str, os.PathLike)):
        return ""
    real = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
    return real if real.startswith(_TEMPORARY) else ""


def _is_open(path: str) -> bool:
    """Does this process hold a file open, or mapped?"""
    folder = "/proc/self/fd"
    for number in _really["listdir"](folder):
        try:
            if _really["readlink"](f"{folder}/{number}") == path:
                return True
        except OSError:
            continue
    return path in _maps()


def _maps() -> str:
    with _file_open("/proc/self/maps", encoding="utf-8") as file:
        return file.read()


def _refuse_open_files(name: str) -> None:
    act = getattr(os, name)

    def there(*paths: Any, **options: Any) -> None:
        for path in paths:
            if (ours := _ours(path)) and _is_open(ours):
                raise PermissionError(errno.EACCES, "Access is denied: the file is open", str(path))
        return act(*paths, **options)

    setattr(os, name, there)


def _check_name(path: Any, write: bool) -> None:
    if write and (ours := _ours(path)) and re.search(r'[<>:"|?*]', ours):
        raise OSError(errno.EINVAL, "Invalid argument: a character that Windows has not in names", str(path))


def _os_open(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
    _no_system_folders(path)
    if WINDOWS:
        if _ours(path) and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied: a folder", str(path))
        _check_name(path, bool(flags & os.O_CREAT))
        if flags & os.O_CREAT and not flags & _BINARY and _asked_by_riderless():
            raise OSError(errno.EINVAL, "opened without O_BINARY: every newline would become two bytes", str(path))
        flags &= ~(_BINARY | _TEMPORARY_FILE)
    return int(_really["open"](path, flags, mode, **options))


def _fsync(fd: Any) -> None:
    number = fd if isinstance(fd, int) else fd.fileno()
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    _really["fsync"](fd)


_file_open = io.open


def _open(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
    _no_system_folders(file)
    if WINDOWS:
        _check_name(file, "r" not in mode)
    return _file_open(file, mode, *arguments, **options)


def _readlink(path: Any, **options: Any) -> Any:
    _no_system_folders(path)
    return _really["readlink"](path, **options)


class _Msvcrt(ModuleType):
    """Module ``msvcrt``, as far as riderless uses it."""

    LK_NBLCK = 2

    @staticmethod
    def locking(fd: int, mode: int, n: int) -> None:
        """Lock a file, or raise OSError."""
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


builtins.__import__ = _import_there
os.open, os.readlink = _os_open, _readlink
io.open = builtins.open = _open
if WINDOWS:
    sys.modules["msvcrt"] = _Msvcrt("msvcrt")
    subprocess.CREATE_NEW_PROCESS_GROUP = 0
    shutil._use_fd_functions = False
    os.fsync = _fsync
    for _name in ("replace", "rename", "unlink", "remove", "rmdir"):
        _refuse_open_files(_name)
    _mkdir = os.mkdir

    def _make_folder(path: Any, *arguments: Any, **options: Any) -> None:
        _check_name(path, write=True)
        _mkdir(path, *arguments, **options)

    os.mkdir = _make_folder
    contexts = multiprocessing.context._concrete_contexts
    for _name in ("fork", "forkserver"):
        contexts.pop(_name, None)
multiprocessing.context._default_context._default_context = multiprocessing.context._concrete_contexts["spawn"]
