"""A program for tests: supervises one part that has a child.

With a process id as argument, it ends with that process.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PART = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
signal.signal(signal.SIGTERM, lambda *_: (child.kill(), sys.exit(0)))
print("ready", flush=True)
signal.pause()
"""

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from dashboard.management.supervisor.child import Part
    from dashboard.management.supervisor.console import Console
    from dashboard.management.supervisor.keeper import Keeper
    from dashboard.management.supervisor.parent import Parent

    part = Part("web", (sys.executable, "-S", "-c", PART), dict(os.environ), ROOT)
    keeper = Keeper(Console(["web"]), [[part]])
    if len(sys.argv) > 1:
        keeper.watchers.append(Parent(int(sys.argv[1])))
    keeper.run()
