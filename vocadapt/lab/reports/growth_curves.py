"""Growth of a text by the size of a smaller vocabulary, under each heuristic, cached in the
workspace.
"""

import logging
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.limits import is_read_only
from vocadapt.lab.workspace.records import COUNTS
from vocadapt.models.language_model import LanguageModel
from vocadapt.system.json_values import has_type
from vocadapt.text.corpus import Corpus
from vocadapt.vocabulary.growth.growth import SEEDS, SIZES, Growth, Reducer, measure_growth_curves
from vocadapt.vocabulary.plan.reduction import REDUCTIONS

GROWTH_VERSION = "1"  # part of the name of cached curves: a new version measures again
GrowthCurves = dict[str, tuple[Growth, ...]]


def load_or_measure_growth_curves(
    root: Path, corpus: Corpus, model: LanguageModel, reducer: Reducer
) -> GrowthCurves:
    """Return the growth under each heuristic, from the whole vocabulary to the smallest possible,
    cached in the workspace at `root` by content; a read-only lab writes no cache.
    """
    path = build_curves_path(root, corpus, model)
    with suppress(InputError, OSError):  # missing or damaged: measured again
        return read_growth_curves(path)
    curves = measure_growth_curves(reducer)
    if not is_read_only():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            strict_json.write(path, curves)
        except OSError as error:  # not fatal: they will be measured again
            logging.getLogger(__name__).warning("cannot save the growth curves: %s", error)
    return curves


def read_growth_curves(path: Path) -> GrowthCurves:
    """Read cached curves; raises InputError for a file that holds something else."""
    kept = strict_json.read(path)
    try:
        curves = {name: tuple(Growth(**point) for point in kept[name]) for name in REDUCTIONS}
        for name, points in curves.items():
            if len(points) != SIZES or not all(map(partial(_is_point_of, name), points)):
                raise TypeError(name)
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: these are no growth curves.", "Delete the file.") from error
    return curves


def _is_point_of(heuristic: str, point: Growth) -> bool:
    """Return whether the values of a point have the types and bounds of one of this heuristic."""
    if point.heuristic != heuristic or not has_type(point, Growth):
        return False
    return min(point.vocabulary, point.tokens, point.unknown) >= 0


def build_curves_path(root: Path, corpus: Corpus, model: LanguageModel) -> Path:
    """Return the path of the cached curves of this text and this tokenizer."""
    special = sorted(model.vocabulary.special)
    measured = (SIZES, SEEDS, *REDUCTIONS)
    parts = (GROWTH_VERSION, corpus.digest(), model.fast_tokenizer.to_str(), special, measured)
    key = "\0".join(map(str, parts))
    return root / COUNTS / f"{blake2b(key.encode(), digest_size=16).hexdigest()}.growth.json"
