"""Test the normalizer and pre-tokenizer of a tokenizer.json before any text is tokenized with them.

A regular expression may take exponential time, and a replacement may expand a text until memory is
full. Both happen inside a library that cannot be interrupted, so:

1. Parts of types that can do neither (SAFE: BERT's and others) are accepted without a test.
2. All others process adversarial lines, in a subprocess with limits on time and memory.
3. If the subprocess fails, the last name that it printed is that of the part that failed.

Example: the pattern "(a+)+$" takes exponential time on "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", so the
subprocess times out.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from tempfile import TemporaryFile
from typing import Any

from vocadapt.errors import InputError
from vocadapt.text.splitter import list_parts
from vocadapt.vocabulary.families.files.tokenizer_checks import TOKENIZER

# Limits of the subprocess. Processor time instead of wall time: the result must not depend on how
# busy the machine is.
SECONDS, MEGABYTES = 5.0, 2048
MAX_WALL_SECONDS = 60.0  # for a process that gets little processor time
POLL_SECONDS = 0.25  # between two measurements of the processor time
# Maximum length of a processed text, relative to the text; Unicode normal forms reach 18.
MAX_GROWTH = 100
SAFE = {
    "BertNormalizer",
    "Lowercase",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Nmt",
    "Strip",
    "StripAccents",
    "ByteLevel",
    "BertPreTokenizer",
    "Whitespace",
    "WhitespaceSplit",
    "Punctuation",
    "Digits",
    "CharDelimiterSplit",
    "UnicodeScripts",
}

# Source of the subprocess. It reads [name, kind, part] triples and prints each name before it tests
# the part.
SCRIPT = """
import json, resource, sys
megabytes, growth = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
try:
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
except (ValueError, OSError):  # macOS takes no such limit; the limit on growth holds
    pass
from tokenizers import Tokenizer
work = json.load(sys.stdin)
model = {"type": "WordLevel", "unk_token": "?", "vocab": {}}
for name, kind, part in work["parts"]:
    print(name, flush=True)
    spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None, "model": model}
    built = getattr(Tokenizer.from_str(json.dumps(spec | {kind: part})), kind)
    for line in work["lines"]:
        if kind == "normalizer":
            size = len(built.normalize_str(line))
        else:
            size = sum(len(word) for word, _ in built.pre_tokenize_str(line))
        if size > growth * (len(line) + 10):
            sys.exit(f"it turns {len(line):,} characters into {size:,}")
print("done", flush=True)
"""


def try_parts(tokenizer: Mapping[str, Any], file: str = TOKENIZER) -> None:
    """Test the normalizer and pre-tokenizer of a parsed tokenizer.json; raise InputError if one of
    them fails.

    Parts of SAFE types are not tested. Results are cached until the program ends.
    file: name of the file that the parts come from.
    """
    for kind in ("normalizer", "pre_tokenizer"):
        part = tokenizer.get(kind)
        if any(one.get("type") not in SAFE for one in list_parts(part)):
            failure = _try(kind, json.dumps(part, sort_keys=True))
            if failure:
                raise InputError(
                    f"The tokenizer's {kind.replace('_', '-')} cannot be used: {failure}.",
                    f"Remove it from {file}, or choose another model.",
                    code="invalid-tokenizer-part",
                )


@lru_cache(maxsize=256)
def _try(kind: str, part: str) -> str:
    """Test a normalizer or pre-tokenizer (as JSON); return which part fails and why, "" if none."""
    # 1. Prepare the tests: each part of a Sequence alone, then the whole Sequence.
    whole = json.loads(part)
    single = [one for one in list_parts(whole) if one.get("type") not in SAFE]
    parts = [(_describe(one), kind, one) for one in single]
    if whole not in single:
        parts.append(("all parts in sequence", kind, whole))
    work = json.dumps({"parts": parts, "lines": list(build_adversarial_lines(part))})
    # 2. Run them in a subprocess, and kill its process group if it exceeds a time limit.
    command = [sys.executable, "-I", "-c", SCRIPT, str(MEGABYTES), str(MAX_GROWTH)]
    environment = {
        **os.environ,
        "RUST_BACKTRACE": "0",
        "RAYON_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with TemporaryFile() as source:
        # A file: `communicate` stops writing to a pipe when it times out for the first time.
        source.write(work.encode())
        source.seek(0)
        process = subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            env=environment,
        )
    try:
        out, err = _communicate(process)
        reason = _explain_failure(err, process.returncode)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        reason = f"it takes more than {SECONDS:g} s on a short text"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    # 3. The last name printed is that of the part that failed.
    last = (out.splitlines() or ["all parts"])[-1]
    return "" if last == "done" else f"{last}: {reason}"


def _communicate(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Return the output of a process; raises TimeoutExpired after too much time."""
    start = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=POLL_SECONDS)
        except subprocess.TimeoutExpired:
            wall_seconds = time.monotonic() - start
            if _measure_processor_time(process.pid) > SECONDS or wall_seconds > MAX_WALL_SECONDS:
                raise


def _measure_processor_time(pid: int) -> float:
    """Return the seconds of processor time that a process has used; 0 if it has ended."""
    import psutil

    try:
        used = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(used.user + used.system)


def build_adversarial_lines(part: str) -> Iterator[str]:
    """Generate lines on which patterns may backtrack exponentially and replacements may expand,
    shortest first.

    Lines repeat a character of the part's JSON, or a common one, and end in one that may not match.
    """
    characters = sorted({*" \t!.,-_'#▁0aAxé中", *(one for one in part if one.isalnum())})[:80]
    for length in (10, 30, 1_000):
        for one in characters:
            yield one * length + "!"
            yield (one + "a1 ")[:4] * (length // 4) + "\u00a7"
    for one in " a0!":
        yield one * 10_000 + "!"
    yield "the Ärzte said: 中文 x² ﷺ ½ e\u0301 \u200b\u00a0 don't 3.14 \U0001f600\n" * 200
    yield "ab1-" * 25_000
    # Every character of the planes that are in use: a broken character map may fail at only one.
    for start in range(ord(" "), 0x20000, 4096):
        codes = range(start, start + 4096)
        yield "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


def _describe(part: Mapping[str, Any]) -> str:
    name = str(part.get("type", "a part without a type"))[:40]
    pattern = part.get("pattern")
    if pattern is None:
        return name
    if isinstance(pattern, dict):  # {"Regex": "…"} or {"String": "…"}
        pattern = next(iter(pattern.values()), "")
    return " ".join(f"{name} with the pattern {str(pattern)[:80]!r}".split())


def _explain_failure(errors: str, code: int) -> str:
    lines = [line for line in errors.splitlines() if line.strip()]
    if code < 0 and lines:
        return f"it needs more than {MEGABYTES:,} MB, or crashes the process"
    if code < 0:
        return f"it crashes the process (signal {-code})"
    if not lines:
        return "it ends the process"
    return lines[-1].rpartition("Exception: ")[2][:200]
