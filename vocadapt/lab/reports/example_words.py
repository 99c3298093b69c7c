"""Words to look at first: those that the demo was measured on."""

from dataclasses import dataclass

from vocadapt.files import read_json_object
from vocadapt.lab import demo
from vocadapt.lab.workspace.manifest import MANIFEST, compute_stamp
from vocadapt.lab.workspace.workspace import Artifact


@dataclass(frozen=True)
class ExampleWord:
    """A word of the demo, and whether the demo's best alignment maps it to a word of its class."""

    word: str
    works: bool


def read_demo_examples(vectors: Artifact) -> tuple[ExampleWord, ...]:
    """Return the measured examples of the demo's word vectors; () for other vectors."""
    shipped = demo.DEMO.joinpath(*demo.VECTORS, MANIFEST)
    if not (shipped.is_file() and demo.EXAMPLES.is_file()):
        return ()
    if compute_stamp(shipped.parent) != vectors.stamp:
        return ()
    examples = read_json_object(demo.EXAMPLES)["examples"]
    return tuple(ExampleWord(one["word"], one["right"]) for one in examples)
