"""Imports only go down the layers of the architecture; and constructs that no file may use."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from tests.material.sources import ROOT, list_modules, list_nodes, list_strings, parse, read_source

# Lowest first. Names on one floor may import each other, except across a set: cli and ui do not
# know each other.
FLOORS = [
    {"errors", "progress", "settings", "given_settings", "extensions", "system"},
    {"text"},
    {"report"},
    {"spaces"},
    {"vocabulary"},
    {"models"},
    {"training"},
    {"analysis"},
    {"published"},
    {"recipe", "presets", "recipe_changes", "pipeline"},
    {"lab"},
    {"cli", "ui"},
    {"pages"},
    {"app"},
]
APART = {"cli", "ui"}
# The floors inside two of them, lowest first; a name that is not listed stands above.
INNER_FLOORS = {
    "ui": ("text", "state", "components", "jobs", "parts", "shell"),
    "lab": (
        "workspace",
        "cluster",
        "inputs",
        "steps",
        "jobs",
        "results",
        "experiments",
        "demo",
        "reports",
    ),
}
HEAVY = {
    "torch",
    "transformers",
    "gensim",
    "sklearn",
    "scipy",
    "pandas",
    "pyarrow",
    "umap",
    "openTSNE",
    "kaleido",
    "accelerate",
    "huggingface_hub",
}
NETWORKS = (  # classes that derive from those of torch and transformers, and weigh as much
    "vocadapt.models.exbert",
    "vocadapt.spaces.word2vec.block_kernel",  # compiled by numba
    "vocadapt.training.separated_embeddings",
    "vocadapt.training.finetune.finetuning_trainer",
    "vocadapt.training.masked.masked_trainer",
    "vocadapt.training.trainers",
)
STREAMLIT = {"ui", "pages", "app"}
RENDERERS = {"vocadapt/ui/text/markup.py"}  # the one place that writes HTML, escaped

FAMILIES = "vocadapt/vocabulary/families/"  # the one place that knows how tokens are spelled
SPELLED = re.compile(r"##|\[(CLS|SEP|MASK|UNK|PAD)\]|\bWordPiece$")
FLAG = re.compile(r"(?<![\w-])--[a-z]")
KNOW_FLAGS = (  # the command line and pages, steps (their inputs), and what builds command lines
    "vocadapt/cli/",
    "vocadapt/ui/",
    "vocadapt/lab/steps/",
    "vocadapt/lab/experiments/search/step.py",
    "vocadapt/lab/experiments/studies/study.py",
    "vocadapt/lab/demo.py",
    "vocadapt/lab/reports/advice.py",
    "vocadapt/lab/experiments/studies/slurm.py",  # the command of its script
    "vocadapt/lab/inputs/tasks.py",
    "vocadapt/settings.py",
    "vocadapt/given_settings.py",
    "vocadapt/extensions.py",
    "pages/",
)
HEADING = re.compile(r"^#{2,} ", re.MULTILINE)

FORBIDDEN_MODULES = {"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
READING = {"load_file", "safe_open", "from_file", "fromfile", "memmap", "copyfile", "copy2"}
OWN_FOLDERS = (
    "vocadapt/models/",  # the door of models checks what a model folder holds
    # what the browser is given: artifacts of the workspace, and the program's own files
    "vocadapt/ui/",
    "pages/",
)
OWN_FILES = {  # they read what this program, or this very step, has written
    "vocadapt/system/files.py",
    "vocadapt/system/footprint.py",  # power counters in /sys
    "vocadapt/lab/reports/advice.py",  # weights of a model folder
    "vocadapt/lab/jobs/job.py",  # the log of a job
    "vocadapt/lab/jobs/status.py",
    "vocadapt/lab/jobs/worker.py",  # its own log
    "vocadapt/spaces/io/tensors.py",  # maps what its header, read through the door, describes
    "vocadapt/spaces/word2vec/trainer.py",  # sentences in a draft
    "vocadapt/spaces/word2vec/counted_trainer.py",
    "vocadapt/spaces/word2vec/gensim_trainer.py",
    "vocadapt/spaces/word2vec/block_trainer.py",  # word ids beside them, and checkpoints
    "vocadapt/training/masked/blocks.py",
    "vocadapt/training/training_text.py",
    "vocadapt/training/masked/trainer.py",
    "vocadapt/training/distillation.py",
    "vocadapt/training/finetune/trainer.py",  # checkpoints
    "vocadapt/training/masked/continued.py",
    "vocadapt/training/masked/validation.py",
    "vocadapt/training/trainers.py",
    "vocadapt/training/masked/sentence_pairs.py",
    "vocadapt/training/masked/from_scratch.py",
    "vocadapt/training/tasks/benchmarks.py",  # cards in the package
    "vocadapt/training/callbacks.py",
    "vocadapt/vocabulary/families/reading.py",  # the inside of a model folder
}
FORBIDDEN_KEYWORDS = {"trust_remote_code", "allow_pickle", "unsafe_allow_javascript", "shell"}


def name_of(path: str) -> str:
    """The name on FLOORS of a file given by its path from the root; "" for the package itself."""
    parts = Path(path).with_suffix("").parts
    name = parts[1] if parts[0] == "vocadapt" else parts[0]
    return {"__main__": "cli", "__init__": ""}.get(name, name)


def floor_of(name: str) -> int:
    floors = [i for i, names in enumerate(FLOORS) if name in names]
    if not floors:
        raise AssertionError(f"{name} stands on no floor: put it on one in FLOORS")
    return floors[0]


def imported(tree: ast.AST, path: str) -> Iterator[tuple[str, int]]:
    """Every imported module, in full, with its line: those in functions and under TYPE_CHECKING
    too.
    """
    package = list(Path(path).parent.parts)
    for node in list_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module.split(".") if node.module else [])])
            yield module, node.lineno
            if module == "vocadapt":
                yield from ((f"vocadapt.{alias.name}", node.lineno) for alias in node.names)


def target(module: str) -> str | None:
    """The name on FLOORS that a module belongs to; None when it is not ours."""
    parts = module.split(".")
    if parts[0] in {"pages", "app"}:
        return parts[0]
    if parts[0] != "vocadapt" or len(parts) == 1 or parts[1].startswith("__"):
        return None
    return parts[1]


def floor_breaks(source: str, path: str) -> list[str]:
    own = name_of(path)
    breaks = []
    for module, line in imported(parse(source), path):
        other = target(module)
        if other is None or other == own:
            continue
        if own == "" and other == "extensions":  # the package loads them when it is imported
            continue
        above = own == "" or floor_of(other) > floor_of(own)
        if above or (own in APART and other in APART):
            breaks.append(f"{path}:{line} imports {module}")
    return breaks


def executed_at_import(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported: not function bodies, not TYPE_CHECKING
    blocks.
    """
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.stmt):
            yield node
        waiting.extend(ast.iter_child_nodes(node))


def heavy_at_import(source: str, path: str) -> list[str]:
    if path.startswith(tuple(name.replace(".", "/") for name in NETWORKS)):
        return []
    found = []
    for node in executed_at_import(parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [module for module, _ in imported(node, path)]
            heavy = {module.split(".")[0] for module in modules} & HEAVY | {
                m for m in modules if m.startswith(NETWORKS)
            }
            found += [f"{path}:{node.lineno} imports {name} at its top" for name in sorted(heavy)]
    return found


def streamlit_outside(source: str, path: str) -> list[str]:
    if name_of(path) in STREAMLIT:
        return []
    return [
        f"{path}:{line} imports {m}"
        for m, line in imported(parse(source), path)
        if m.split(".")[0] == "streamlit"
    ]


def unsafe(source: str, path: str) -> list[str]:
    tree = parse(source)
    found = [
        f"{path}:{n} imports {m}"
        for m, n in imported(tree, path)
        if m.split(".")[0] in FORBIDDEN_MODULES
    ]
    for node in list_nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"{path}:{node.lineno} calls {node.func.id}")
        for keyword in node.keywords:
            off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg in FORBIDDEN_KEYWORDS and not off:
                found.append(f"{path}:{node.lineno} gives {keyword.arg}")
            if keyword.arg == "unsafe_allow_html" and not off and path not in RENDERERS:
                found.append(f"{path}:{node.lineno} gives unsafe_allow_html outside the renderer")
        if (
            isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func) == "st.html"
            and path not in RENDERERS
        ):
            found.append(f"{path}:{node.lineno} calls st.html outside the renderer")
        if ast.unparse(node.func) in {"os.system", "os.popen"}:
            found.append(f"{path}:{node.lineno} calls {ast.unparse(node.func)}")
    return found


def reads_beside_the_door(source: str, path: str) -> list[str]:
    """Files opened to be read by anything but `vocadapt.system.files`: see its own words for why."""
    if path in OWN_FILES or path.startswith(OWN_FOLDERS):
        return []
    found = []
    for node in list_nodes(parse(source)):
        if isinstance(node, ast.Call) and _reads(node):
            found.append(
                f"{path}:{node.lineno} reads by {ast.unparse(node.func)}: use vocadapt.system.files"
            )
    return found


def _reads(call: ast.Call) -> bool:
    """Whether a call opens a file to read it, unchecked."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0] if call.args else None
    checked = isinstance(first, ast.Call) and ast.unparse(first.func) == "check_file"
    if name == "open":
        module = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if module in ("os", "archive", "packed"):  # a descriptor, a member of an archive
            return False
        return not any(
            isinstance(arg, ast.Constant) and str(arg.value)[:1] in "wax"
            for arg in (*call.args[:2],)
        )
    method = name in ("read_bytes", "read_text") and isinstance(call.func, ast.Attribute)
    numpy = (
        name == "load"
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == "np"
    )
    return method or ((numpy or name in READING) and not checked)


KIND_NAMES = {"ner", "relations", "classification", "multilabel", "nli", "qa"}
EXAMPLES = {"Example", "Sentence", "Text", "Question"}
KINDS_FOLDER = "vocadapt/training/tasks/kinds/"


def decides_by_task_kind(source: str, path: str) -> list[str]:
    """Conditions and tables by the name of a task kind, or by the class of an example: what differs
    between kinds is a method or attribute of TaskKind.
    """
    if path.startswith(KINDS_FOLDER):
        return []
    found = []
    for node in list_nodes(parse(source)):
        by_name = isinstance(node, ast.Compare) and _constants(node) & KIND_NAMES
        table = isinstance(node, ast.Dict) and len(_texts(node.keys) & KIND_NAMES) > 1
        pattern = isinstance(node, ast.MatchValue) and _constants(node) & KIND_NAMES
        if by_name or table or pattern or _tests_class(node):
            found.append(f"{path}:{node.lineno} decides by kind of task: ask the kind")
    return found


def _texts(nodes: list[ast.expr | None]) -> set[str]:
    return {str(node.value) for node in nodes if isinstance(node, ast.Constant)}


def _constants(node: ast.AST) -> set[str]:
    return _texts([one for one in ast.walk(node) if isinstance(one, ast.Constant)])


def _tests_class(node: ast.AST) -> bool:
    """Whether a node asks for the class of an example."""
    if isinstance(node, ast.Call):
        by_class = isinstance(node.func, ast.Name) and node.func.id in {"isinstance", "issubclass"}
        return by_class and bool(_names(node) & EXAMPLES)
    if isinstance(node, ast.Compare):
        names = _names(node)
        return "type" in names and bool(names & EXAMPLES)
    return isinstance(node, ast.MatchClass) and ast.unparse(node.cls) in EXAMPLES


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def spelled_tokens(source: str, path: str) -> list[str]:
    """Marks and special tokens in strings: only tokenizer families know how tokens are spelled.

    Docstrings (their examples), and headings of Markdown, are no such strings.
    """
    if path.startswith(FAMILIES):
        return []
    return [
        f"{path}:{line} spells a token: {text!r}"
        for line, text in list_strings(source)
        if SPELLED.search(HEADING.sub("", text))
    ]


def flags_below_the_command_line(source: str, path: str) -> list[str]:
    """Flags in strings below the command line: only the declaration of a setting or of an input has
    one, and what builds a command line.
    """
    if path.startswith(KNOW_FLAGS):
        return []
    tree = parse(source)
    declared = {
        keyword.value
        for node in list_nodes(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in ("flag", "other_flag")
    }
    return [
        f"{path}:{node.lineno} names a flag: {node.value!r}"
        for node in list_nodes(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in declared
        and FLAG.search(node.value)
    ]


SPACE, ADAPTED, BELOW = (  # files of several floors
    "vocadapt/spaces/space.py",
    "vocadapt/models/adapted_model.py",
    "vocadapt/training/prediction/plain_text.py",
)
LATE = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
IMPORTS_FROM_ABOVE = (  # source, and the file that has it
    ("from vocadapt.spaces.space import EmbeddingSpace", "vocadapt/text/corpus.py"),
    ("def f():\n    import vocadapt.models.adapted_model", "vocadapt/vocabulary/plan/plan.py"),
    (f"{LATE}from vocadapt.lab import jobs", ADAPTED),
    ("from ..models import adapt", SPACE),
    ("from vocadapt import lab", ADAPTED),
    ("from vocadapt.ui import frame", "vocadapt/cli/lab/jobs.py"),
    ("from vocadapt.cli import main", "vocadapt/ui/shell/server.py"),
    ("from vocadapt.cli import main", "vocadapt/__init__.py"),
    ("import app", "pages/build/vectors.py"),
)
IMPORTS_FROM_BELOW = (
    ("from . import space", "vocadapt/spaces/alignment/alignment.py"),
    ("from ..errors import InputError", SPACE),
    ("from vocadapt.recipe import Recipe", "vocadapt/pipeline.py"),
    ("from vocadapt import __version__", "vocadapt/text/words.py"),
    ("from vocadapt.cli import main", "vocadapt/__main__.py"),
    ("import vocadapt.lab.jobs.queue", "pages/build/vectors.py"),
)


def test_a_planted_import_from_above_is_caught():
    assert [one for one in IMPORTS_FROM_ABOVE if not floor_breaks(*one)] == []
    assert [one for one in IMPORTS_FROM_BELOW if floor_breaks(*one)] == []
    with pytest.raises(AssertionError, match="cloud"):  # a new package must be put on a floor
        floor_breaks("from vocadapt.cloud import ray", ADAPTED)


@dataclass(frozen=True)
class Planted:
    """Sources that a check finds in a file, but not in the other one, and sources that pass it."""

    path: str
    found: tuple[str, ...]
    passes: tuple[str, ...]
    exempt: str = ""


PLANTED = {
    heavy_at_import: Planted(
        SPACE,
        (
            "import torch",
            "from sklearn.decomposition import PCA",
            "try:\n    import pandas\nexcept ImportError:\n    pass",
            "class A:\n    import scipy.linalg",
            "if True:\n    from transformers import AutoModel",
        ),
        ("def f():\n    import torch", f"{LATE}import torch", "import numpy"),
    ),
    spelled_tokens: Planted(
        SPACE,
        (
            "token.startswith('##')",
            "vocabulary.ids['[CLS]']",
            "f'{word} became [UNK]'",
            "def f():\n    'docstring'\n    return '##ing'",
            "{'type': 'WordPiece'}",
        ),
        ('def f():\n    """Return ##ing."""\n    return "# A\\n## B", f"## {name}"',),
        f"{FAMILIES}wordpiece.py",
    ),
    flags_below_the_command_line: Planted(
        SPACE,
        ('InputError("Give a task.", "Such as --task ner.")', 'def f():\n    "As --json has it."'),
        ('epochs: int = setting(5, "passes", flag="--num-epochs")',),
        "vocadapt/cli/run.py",
    ),
    streamlit_outside: Planted(
        "vocadapt/lab/jobs/queue.py",
        ("def f():\n    import streamlit as st",),
        (),
        "vocadapt/ui/shell/frame.py",
    ),
    unsafe: Planted(
        "vocadapt/spaces/io/storage.py",
        (
            "import pickle",
            "def f():\n    from pickle import loads",
            "eval('1')",
            "exec('1')",
            "AutoModel.from_pretrained(x, trust_remote_code=True)",
            "AutoModel.from_pretrained(x, trust_remote_code=flag)",
            "np.load(x, allow_pickle=True)",
            "st.markdown(x, unsafe_allow_html=True)",
            "st.html(x)",
            "subprocess.run('ls', shell=True)",
            "os.system('ls')",
        ),
        ("np.load(x, allow_pickle=False)", "model.eval()", "load(x, trust_remote_code=False)"),
    ),
    reads_beside_the_door: Planted(
        BELOW,
        (
            "path.open()",
            "path.open('rb')",
            "open(path)",
            "path.read_text(encoding='utf-8')",
            "Path(x).read_bytes()",
            "(folder / 'a').open(encoding='utf-8')",
            "gzip.open(path)",
            "load_file(folder / LOGITS)",
            "np.load(path)",
        ),
        (
            "path.open('w')",
            "path.open('xb')",
            "os.open(path, os.O_RDONLY)",
            "read_document(path)",
            "load_file(check_file(path))",
            "np.load(check_file(path))",
            "read_text(file, into)",
        ),
    ),
    decides_by_task_kind: Planted(
        "vocadapt/analysis/errors/ledger.py",
        (
            "if kind == 'ner': pass",
            "if 'qa' != run.kind.name: pass",
            "x = task.kind in ('ner', 'nli')",
            "WIDTH = {'ner': 1, 'qa': 2}",
            "if isinstance(example, Sentence): pass",
            "x = [isinstance(one, (Text, Question)) for one in examples]",
            "if type(example) is Question: pass",
            "match kind:\n    case 'multilabel': pass",
            "match example:\n    case Text(): pass",
        ),
        (
            "if run.kind.finds_entities: pass",
            "if one.kind == other.kind: pass",
            "answer = {'relations': lists}",
            "if isinstance(value, str): pass",
            "def count(sentence: Sentence) -> int: ...",
        ),
        f"{KINDS_FOLDER}qa.py",
    ),
}


@pytest.mark.parametrize("check", [floor_breaks, *PLANTED], ids=lambda check: check.__name__)
def test_every_file_keeps_the_rule(check):
    found = [
        line
        for path in list_modules()
        for line in check(read_source(path), path.relative_to(ROOT).as_posix())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("check", PLANTED, ids=lambda check: check.__name__)
def test_what_is_planted_is_found_and_what_is_allowed_passes(check):
    planted = PLANTED[check]
    for source in planted.found:
        assert check(source, planted.path), source
        assert not planted.exempt or not check(source, planted.exempt), source
    for source in planted.passes:
        assert not check(source, planted.path), source


def test_the_floors_below_the_interface_load_nothing_heavy():
    paths = [p.relative_to(ROOT).with_suffix("") for p in list_modules()]
    ours = [
        ".".join(p.parts).removesuffix(".__init__")
        for p in paths
        if p.parts[0] == "vocadapt" and "ui" not in p.parts
    ]
    light = [
        name for name in ours if not name.endswith("__main__") and not name.startswith(NETWORKS)
    ]
    imports = "\n".join(f"import {name}" for name in light)
    code = f"import sys\n{imports}\nprint(*sorted(set(sys.modules) & {HEAVY | {'streamlit'}}))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""


def test_the_rule_names_every_kind_of_task_and_example():
    from vocadapt.training.examples.examples import Example
    from vocadapt.training.tasks.kinds import TASK_KINDS

    assert set(TASK_KINDS) == KIND_NAMES
    assert {one.__name__ for one in Example.__subclasses__()} == EXAMPLES - {"Example"}


def imported_modules(source: str, path: str, modules: set[str]) -> set[str]:
    """The modules of the house that a file imports, wherever it does: at its top, in functions,
    under TYPE_CHECKING, by a relative name.
    """
    found = set()
    for node in list_nodes(parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            [module, *_] = [module for module, _ in imported(node, path)]
            named = {f"{module}.{alias.name}" for alias in node.names}
            found |= named & modules or {module}
    return found & modules


@lru_cache(maxsize=1)
def imports_of_all() -> dict[str, set[str]]:
    """The modules that each module of the house imports."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in list_modules()
    }
    return {
        name: imported_modules(read_source(path), path.relative_to(ROOT).as_posix(), set(paths))
        - {name}
        for name, path in paths.items()
    }


def rooms_in_circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The rooms inside a floor that import each other. A room is a folder with its modules, or a module
    that stands directly in a floor; beside that, what stands side by side in a folder, with all below.
    """
    packages = {name.rpartition(".")[0] for name in imports}
    rooms: dict[str, set[str]] = {}
    beside: dict[str, set[str]] = {}

    def find_room(name: str) -> str:
        return name if name in packages or name.count(".") == 2 else name.rpartition(".")[0]

    for name, targets in imports.items():
        for target in targets:
            own, other = name.split("."), target.split(".")
            if own[:2] != other[:2] or min(len(own), len(other)) < 3:
                continue
            room, its_room = find_room(name), find_room(target)
            if room != its_room:
                rooms.setdefault(room, set()).add(its_room)
                rooms.setdefault(its_room, set())
            common = next(
                (n for n, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), None
            )
            if common is not None:
                one, two = (".".join(parts[: common + 1]) for parts in (own, other))
                beside.setdefault(one, set()).add(two)
                beside.setdefault(two, set())
    return [*find_circles(rooms), *find_circles(beside)]


def inner_floor_breaks(imports: dict[str, set[str]]) -> list[str]:
    """The imports of a room from a higher one, inside `ui` and `lab`."""
    breaks = []
    for name, targets in imports.items():
        for target in targets:
            own, other = name.split("."), target.split(".")
            if own[:2] != other[:2] or min(len(own), len(other)) < 3 or own[1] not in INNER_FLOORS:
                continue
            order = INNER_FLOORS[own[1]]
            height, its_height = (
                order.index(parts[2]) if parts[2] in order else len(order) for parts in (own, other)
            )
            if its_height > height:
                breaks.append(f"{name} imports {target}")
    return sorted(breaks)


def find_circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Modules that can be reached from themselves by imports, a list for each circle."""
    reachable = {name: set(targets) for name, targets in imports.items()}
    grows = True
    while grows:
        grows = False
        for targets in reachable.values():
            more = set().union(*(reachable[target] for target in targets)) - targets
            targets |= more
            grows = grows or bool(more)
    circles = {
        tuple(sorted(other for other in reachable[name] if name in reachable[other]))
        for name in reachable
        if name in reachable[name]
    }
    return [list(circle) for circle in sorted(circles)]


def test_no_modules_import_each_other():
    imports = imports_of_all()
    assert sum(map(len, imports.values())) > len(imports)
    assert find_circles(imports) == []


def test_no_rooms_of_a_floor_import_each_other():
    assert rooms_in_circles(imports_of_all()) == []


def test_inside_ui_and_lab_imports_go_down():
    assert inner_floor_breaks(imports_of_all()) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Two folders, two modules directly in a floor, a parent and its child, and whole folders.
        ("vocadapt.lab.steps.a", "vocadapt.lab.jobs.b"),
        ("vocadapt.models.saving", "vocadapt.models.loading"),
        ("vocadapt.vocabulary.families.bpe", "vocadapt.vocabulary.families.tables.merges"),
        ("vocadapt.spaces.a.deep.b", "vocadapt.spaces.c.deep.d"),
    ],
)
def test_a_planted_circle_of_rooms_is_found(first, second):
    other = second.rpartition(".")[0] + ".other" if second.count(".") > 2 else second
    imports = {first: {second}, second: set(), other: set()}
    assert not rooms_in_circles(imports)
    imports[other] = {first}
    assert rooms_in_circles(imports)


def test_a_planted_import_inside_a_floor_from_above_is_found():
    below, above = "vocadapt.lab.workspace.drafts", "vocadapt.lab.steps.run"
    assert inner_floor_breaks({above: {below}}) == []
    assert inner_floor_breaks({below: {above}}) == [f"{below} imports {above}"]
    assert inner_floor_breaks({"vocadapt.ui.jobs.panel": {"vocadapt.ui.parts.lens.page"}})


def test_a_planted_circle_is_found():
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a.b import C"
    modules = {"a.b", "a.c", "a.d"}
    imports = {
        "a.b": imported_modules("def f():\n    from a import c", "", modules),
        "a.c": imported_modules("import a.d", "", modules),
        "a.d": imported_modules(source, "", modules),
    }
    assert find_circles(imports) == [["a.b", "a.c", "a.d"]]
    assert find_circles(imports | {"a.d": set()}) == []
