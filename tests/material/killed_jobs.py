"""Jobs that are killed."""

import os
import signal

from vocadapt.lab.jobs.status import read_status

LONG = 60


def kill(job):
    """Kill -9, by the pid that it wrote, or before it could write one by the one whose command line
    names it.
    """
    import psutil

    pid = read_status(job.folder).pid
    if not pid:
        mine = (
            child for child in psutil.Process().children() if job.id in " ".join(child.cmdline())
        )
        pid = next((child.pid for child in mine), 0)
    if pid:
        os.kill(pid, signal.SIGKILL)
    assert not job.wait(10).alive
