"""Run the steps of the Dockerfile without Docker, in an empty folder, as a user without rights.

    python deploy/run_steps.py FOLDER            # run them, serve the demo, ask for its health, stop
    python deploy/run_steps.py FOLDER --print    # print the shell script that would run

Each instruction becomes one line of a shell script. Paths of the image, such as /data, become folders in
FOLDER. The step that makes the user is left out: start this as a user that you have made. pip reads its
settings from the environment, for example PIP_FIND_LINKS.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

DEPLOY = Path(__file__).resolve().parent
SOURCE = DEPLOY.parent
IMAGE_FOLDERS = ("/build", "/home/lab", "/data")
AS_ROOT = "useradd"
PORT = "8501"
HEALTH = """
"$@" & server=$!
for second in $(seq 120); do
    if {check} 2>/dev/null; then echo "healthy after $second s"; break; fi
    kill -0 $server || exit 1
    sleep 1
done
{check}
kill $server
wait $server || true
"""


def read_instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each as its name and its text; comments are left out."""
    lines = [line for line in dockerfile.splitlines() if line and not line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in text.splitlines()]


def build_script(dockerfile: str, source: Path, folder: Path, port: str = PORT) -> str:
    """Build the shell script that runs all stages of a Dockerfile in a folder.

    Raises ValueError for an instruction that it does not know.
    """
    lines = ["set -eu", f"mkdir -p {' '.join(f'{folder}{one}' for one in IMAGE_FOLDERS)}"]
    check, command = "", ""
    for name, text in read_instructions(dockerfile):
        inside = _move_paths(text, folder)
        # The last CMD is run; HEALTHCHECK is inherited from the stage before.
        if name == "HEALTHCHECK":
            check = inside.split(" CMD ", 1)[1].replace(PORT, port)
        elif name == "CMD":
            command = shlex.join(json.loads(inside)).replace(PORT, port)
        else:
            lines += _translate(name, text, inside, source)
    return "\n".join([*lines, f"set -- {command}", HEALTH.format(check=check)])


def _translate(name: str, text: str, inside: str, source: Path) -> list[str]:
    """Return the lines of the shell script for one instruction.

    inside: its text with the paths of this machine.
    """
    if name in ("FROM", "USER", "VOLUME", "EXPOSE", "ARG"):
        return [f"# {name} {text}"]
    if name == "RUN" and AS_ROOT in text:
        return [f"# left out, needs root: {text}"]
    if name == "RUN":
        return [f"echo {shlex.quote(f'RUN {text}')}", inside]
    if name == "ENV":
        return [f"export {inside}"]
    if name == "WORKDIR":
        return [f"mkdir -p {inside}", f"cd {inside}"]
    if name == "COPY" and text.startswith("--from="):
        return [f"cp -R {inside.split(' ', 1)[1]}"]
    if name == "COPY":
        return [_copy_source(source, inside.split()[-1])]
    raise ValueError(f"{name}: this instruction is not known")


def _move_paths(text: str, folder: Path) -> str:
    """Replace the folders of the image by folders in another folder."""
    return re.sub(rf"(?<![\w/.])({'|'.join(IMAGE_FOLDERS)})\b", rf"{folder}\1", text)


def _copy_source(source: Path, target: str) -> str:
    """Return the command that copies the build context, without what .dockerignore names."""
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    names = [line for line in ignored if line and not line.startswith("#")]
    # A name alone is at the top, one after **/ anywhere.
    patterns = [line.removeprefix("**/") if line[0] == "*" else f"./{line}" for line in names]
    excluded = " ".join(f"--exclude='{pattern}'" for pattern in patterns)
    return f"mkdir -p {target} && tar -C {source} {excluded} -cf - . | tar -C {target} -xf -"


def main() -> int:
    """Run or print the script; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--print", action="store_true", help="print the script")
    parser.add_argument("--port", default=PORT)
    options = parser.parse_args()
    folder = options.folder.resolve()
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    script = build_script(dockerfile, SOURCE, folder, options.port)
    if options.print:
        sys.stdout.write(script)
        return 0
    if os.geteuid() == 0:
        sys.stderr.write("The image runs as a user without rights: start this as one.\n")
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        sys.stderr.write(f"{folder} is not empty.\n")
        return 2
    return subprocess.run(["sh", "-c", script], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
