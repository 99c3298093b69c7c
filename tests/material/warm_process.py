"""A process that has imported torch and transformers, and runs each script in a copy of itself.

Such a copy is there in a tenth of a second; a new interpreter needs five of processor time for these
imports. A script finds what it would find there: no module of vocadapt, its standard input, and its
own exit code, output and errors.
"""

import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import IO, Any


class WarmProcess:
    """Takes the place of the module `subprocess` where scripts are run by `run`."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def run(self, command: Sequence[str], input: str = "", **options: Any) -> Any:
        """Run [sys.executable, "-I", "-c", SCRIPT, *arguments] in a copy."""
        python, isolated, flag, script, *arguments = command
        assert (python, isolated, flag) == (sys.executable, "-I", "-c")
        assert options.pop("capture_output") and options.pop("text") and not options.pop("check")
        folder = Path(options.pop("cwd", Path.cwd()))
        assert not options
        return self.run_script(script, input, folder, arguments)

    def run_script(
        self,
        script: str,
        given: str = "",
        folder: Path = Path("/"),
        arguments: Sequence[str] = (),
    ) -> "subprocess.CompletedProcess[str]":
        """Run a script in a copy; given: its standard input. folder: its working folder."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-I", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd="/",
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([script, given, str(folder), list(arguments)]) + "\n")
        self.process.stdin.flush()
        code, out, err = json.loads(self.process.stdout.readline())
        return subprocess.CompletedProcess(["-c", script], code, out, err)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()


def main() -> None:
    """Import the libraries, and run each script that arrives in a copy of this process."""
    # `-I` ignores PYTHONPATH, and with it the sitecustomize.py of the tests.
    runpy.run_path(str(Path(__file__).with_name("network_guard.py")))["install"]()
    import torch  # noqa: F401
    import transformers
    from transformers.models.bert import modeling_bert  # noqa: F401

    transformers.AutoConfig, transformers.AutoTokenizer  # noqa: B018 - imported when they are named
    for line in sys.stdin:
        script, given, folder, arguments = json.loads(line)
        code = compile(script, "<string>", "exec")
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            child = os.fork()
            if not child:
                os.chdir(folder)
                sys.argv = ["-c", *arguments]
                run_script(code, given, out, err)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            err.seek(0)
            sys.stdout.write(json.dumps([status, out.read(), err.read()]) + "\n")
            sys.stdout.flush()


def run_script(code: CodeType, given: str, out: IO[str], err: IO[str]) -> None:
    """Run a script in this process, and end it."""
    status = 0
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.stdin = io.StringIO(given)
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
