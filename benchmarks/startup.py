"""Time of `python -m vocadapt --help`, compared with an empty Python program. Budget: .5 s."""

import statistics
import subprocess
import sys
import time

RUNS, BOUND = 9, 0.5


def seconds(*arguments: str) -> float:
    """Return the median wall time of a new process."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    bare = seconds("-c", "pass")
    shown = seconds("-m", "vocadapt", "--help")
    command = seconds("-m", "vocadapt", "vectors", "train", "--help")
    print(f"bare Python                     {bare:.3f} s")
    print(
        f"vocadapt --help                 {shown:.3f} s  ({shown / bare:.1f} × bare; bound"
        f" {BOUND} s)"
    )
    print(f"vocadapt vectors train --help   {command:.3f} s  ({command / bare:.1f} × bare)")
    return 0 if shown < BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
