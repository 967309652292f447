"""The end of the interpreter.

When the main thread ends, waits that are under way return, and later ones last a second at most. When all threads have
ended, what is still open is flushed and closed.
"""

import atexit

# Whoever registers last is called first, and the threads of pools must be woken before the pools wait for them.
import concurrent.futures.thread  # noqa: F401
import os
import threading

from ._rheo import close_all, forget_parent, interrupt_waits

# Before other threads are joined. There is no public name for this moment; without it a thread that waits in one long
# fetch would keep the interpreter from ending until its wait is over.
_register = getattr(threading, "_register_atexit", None)
if _register is not None:
    _register(interrupt_waits)
atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_parent)
