"""Every cache of the pages is bounded, so a server that runs for days does not grow."""

import ast

from tests.material.sources import check_files, list_modules, list_nodes, parse
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.ui.state.cache import STAMPS

BOUNDS = {"cache_data": "max_entries", "cache_resource": "max_entries", "lru_cache": "maxsize"}


def unbounded(source: str) -> list[str]:
    """The decorators of caches that name no bound; `functools.cache` counts only where the function
    takes arguments.
    """
    found = []
    for node in list_nodes(parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            given = (
                {word.arg: word.value for word in decorator.keywords}
                if isinstance(decorator, ast.Call)
                else {}
            )
            bound = given.get(BOUNDS.get(name, ""))
            if name in BOUNDS and not (
                isinstance(bound, ast.Constant) and isinstance(bound.value, int)
            ):
                found.append(f"{node.name}: {name}")
            if name == "cache" and node.args.args:
                found.append(f"{node.name}: {name}")
    return found


def test_every_cache_names_how_many_entries_it_keeps():
    check_files(unbounded, list_modules())


def test_a_cache_without_a_bound_is_found():
    forms = [
        "@st.cache_data",
        "@st.cache_resource(show_spinner=False)",
        "@lru_cache",
        "@lru_cache(maxsize=None)",
        "@cache",
    ]
    assert all(unbounded(f"{form}\ndef f(a): pass") for form in forms)
    assert not unbounded("@st.cache_data(max_entries=3)\ndef f(a): pass\n@cache\ndef g(): pass")


def test_a_text_counted_by_another_splitter_has_another_stamp(tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("word\t1\n")
    splitters = (None, Splitter.bert(True), Splitter.bert(False))
    stamps = {STAMPS[Corpus](Corpus((path,), counted_by=splitter)) for splitter in splitters}
    assert len(stamps) == 3
