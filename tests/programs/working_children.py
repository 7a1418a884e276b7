"""Three children that work for a while; with `grandchildren`, each has a child of its own that does so, too."""

import os
import sys
import time

for _ in range(3):
    if not os.fork():
        if "grandchildren" in sys.argv:
            os.fork()
        end = time.process_time() + 0.06
        while time.process_time() < end:
            pass
        os._exit(0)
for _ in range(3):
    os.wait()
