"""User errors on the command line: exit code 2, at most three lines on stderr, no usage, no
traceback, and no files left behind."""

import importlib
import json
import os
import pickle
import shutil
import sys
from pathlib import Path

import pytest

from tests.material.lab import KNOWN
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.cli import main
from vocadapt.cli import run as command_runner
from vocadapt.cli.run import COMMANDS, find_command
from vocadapt.lab.demo import DEMO
from vocadapt.lab.workspace.manifest import Manifest

# A missing file is refused where a pipe is, by one function: see test_special_files.py. What the
# parser refuses: see test_schema.py.
BAD = """
words count empty.txt --model {model}
words count binary.txt --model {model}
words count latin.txt --model {model}
words count {text} --model bpe
context two,words --corpus {text}
context ##chy --corpus {text}
context ##chy --corpus {text} --model {model}
advise empty.txt --model {model}
advise {text} --model bpe
advise {text} --model {model} --task {text}
pretrain --corpus {text} --out out
pretrain --from-scratch --model {model} --corpus {text} --out out
pretrain --from-scratch --stage whole --corpus {text} --out out
pretrain --model {model} --corpus {text} --out out
pretrain --model {model} --stage extension --corpus {text} --out out
pretrain --model {model} --stage whole --corpus {text} --length 128 --out out
pretrain --model {model} --stage whole --corpus {text} --length 16 --gradient-accumulation-steps 5 --out out
pretrain --model no/pe --offline --stage whole --corpus {text} --out out
pretrain --from-scratch --corpus {text} --out out --hidden 200
gates --model {model} --corpus {text}
gates --model no/pe --offline --corpus {text}
vocabulary extension --model {model} --corpus missing.txt
vectors train {text} --model {model}
vectors train {text} --model {model} --out out --trainer counts --epochs 3
vectors train {text} --model {model} --name ../../x
vectors train {text} --model {model} --name x --out y
vectors train {text} --model {model} --out out --min-count 100000
vectors train {text} --model no/pe --offline --out out
vectors train empty.txt --model {model} --out out
vectors train {text} --model {model} --out empty.txt/out
vectors train {text} --model vocab.txt --out out
vectors train {text} --model {model} --casing cased --out out
vectors import good.vec --casing cased --out out
vectors contextual --model {model} --corpus {text}
vectors contextual --model {model} --corpus {text} --layer 3 --length 64 --out out
vectors contextual --model {model} --corpus {text} --length 65 --out out
vectors contextual --model {model} --corpus {text} --length 64 --words empty.txt --out out
vectors contextual --model {model} --corpus {text} --length 64 --words good.vec --out out
vectors contextual --model {model} --corpus {text} --length 64 --min-count 100000 --out out
vectors contextual --model {model} --corpus empty.txt --length 64 --out out
vectors contextual --model vocab.txt --corpus {text} --length 64 --out out
vectors contextual --model weightless --corpus {text} --length 64 --out out
vectors contextual --model bpe --corpus {text} --length 64 --out out
vectors import ragged.vec --out out
vectors import nan.vec --out out
vectors import evil.bin --out out
vectors import lying.vec --out out
vectors import good.vec --fold-case --out out
vectors evaluate nothing
vectors evaluate {vectors} --pairs empty.txt
vectors evaluate {vectors} --analogies ragged.vec
align --vectors nothing --model {model}
align --vectors {vectors} --model vocab.txt --save out
align --vectors {narrow} --model {model} --method identity --save out
neighbors unicorn --vectors {vectors} --model {model}
neighbors drug --vectors {vectors} --model vocab.txt
neighbors drug --vectors {vectors} --model {model} --metric euclidean --csls
neighbors two,words --vectors {vectors} --model {model}
change --before {model} --after nothing/at/all
change --before {model} --after vocab.txt
change --before {model} --after {vectors} -k 500
change --before {model} --after {vectors} --word nosuchword
change --before {model} --after {model} --noise-baseline-seed
change --before {narrow} --after {narrow} --noise-baseline-bootstrap
change --before {model} --after {model} --noise-baseline {model} nothing/at/all
change --before {model} --after {vectors} --noise-baseline {model} {model} --among all
tasks card zzzz
tasks card NCBI-disease
tasks download mednli --out out
tasks download covid-qa
tasks download covid-qa --from nowhere --out out
tasks download covid-qa --from evil --out out
tasks download covid-qa --from evil --out vocab.txt
tasks download bio-lm/GAD --from bpe --out out
tasks download covid-qa --name x --out out
results {model}
results --workspace nowhere
results --workspace empty.txt
results {vectors} --baseline x
results --rounds 0
results --baseline-tokenization pooled
score --gold empty.txt --predicted empty.txt --kind ner
score --gold missing.txt --predicted missing.txt --kind qa
score --gold binary.txt --predicted binary.txt --kind relations
score --gold good.vec --predicted good.vec --kind ner
score --gold vocab.txt --predicted vocab.txt --kind ner
score --gold good.vec --predicted good.vec --kind ner --scorer squad
score --gold good.vec --predicted good.vec --kind ner --against good.vec --rounds 0
study plan vocab.txt
study plan empty.txt
study run vocab.txt --out out
study run binary.txt --out out
study run empty.txt --on mars --out out
study status missing.toml
study status vocab.txt
study status empty.txt
study table missing.toml
study table vocab.txt
study table binary.txt
study report missing.toml --to out.html
study report vocab.txt --to out.html
study cell missing.toml 0 --of 1 --out out
study cell vocab.txt 0 --of 1 --out out
search --model {model} --task nothing --out out
search --model missing --task ner --out out
search seeds --model {model} --task missing.toml --out out
search seeds --model {model} --task nothing --out out
reproduce nothing --out out
reproduce fast-2.1 --model missing --out out
demo --out vocab.txt
vocabulary compare vocab.txt bpe
vocabulary compare vocab.txt empty.txt
vocabulary compare vocab.txt binary.txt
vocabulary study --model {model} --corpus empty.txt
vocabulary study --model bpe --corpus {text}
vocabulary study --model faulty.txt --corpus {text}
vocabulary study --model {model} --corpus {text} --keep 0.01
project --out m.html
project --model {model} --vectors {vectors} --out m.html
project --model {model}
project --model {model} --out m.pdf
project --model {model} --out missing/m.html
project --model {model} --out empty.txt
project --model {model} --out m.html --name n
project --model {model} --around missing --out m.html
project --model {model} --first 1 --out m.csv
project --model {model} --first 2 --out out
project --model {model} --first 60 --method tsne --out m.html
project --model {model} --first 10 --method umap --out out
project --model {model} --search nothing --out m.csv
project --model {model} --band count --low 3 --out m.csv
project --model {model} --other {narrow} --search thing --out m.csv
project --model vocab.txt --out m.html
project --model no/pe --offline --out m.html
vocabulary trim --model {model} --corpus {text} --out out
pack make --model {model} --adapted {model} --out out
pack make --model {model} --adapted none --out out
pack apply --model {model} --pack none --out out
pack apply --model {model} --pack {text} --out out
pack remove --model {model} --out out
pack remove --model none --out out
pack show none
pack show {text}
vocabulary reduce --model {model} --keep 0.01 --out out
vocabulary reduce --model {model} --keep 0.9 --heuristic freq --out out
vocabulary reduce --model {model} --keep 0.9 --heuristic last --corpus {text} --out out
vocabulary reduce --model vocab.txt --keep 0.9 --out out
vocabulary reduce --model bpe --keep 0.9 --out out
vocabulary reduce --model {model} --keep 0.9
adapt --model {model} --preset transfer-syntactic --out out
adapt --model {model} --preset transfer-syntactic --target bpe --out out
adapt --model {model} --preset transfer-syntactic --target faulty.txt --out out
adapt --model {model} --preset transfer-syntactic --target {model} --vectors {vectors} --out out
adapt --model {model} --preset combined-freq-10 --target {model} --out out
adapt --model {model} --removed 0.5 --out out
adapt --model {model} --add-by target --target {model} --removed 0.2 --out out
adapt --model {model} --preset combined-last-10 --target {model} --max-added 5 --out out
adapt --model {model} --preset reinit-normal --count-marks --out out
adapt --model {model} --preset reduced-last-5 --initializer syntactic --out out
adapt --model {model} --add-by words --out out
adapt --model {model} --preset green-bert --vectors {vectors} --remove-by last --out out
diagnose nothing/at/all
diagnose {model} vocab.txt
diagnose {model} {model}
diagnose weightless
diagnose {vectors} bpe
relations
relations --model nothing/at/all
relations --model {model} --pairs empty.txt
relations --model {model} --pairs binary.txt
relations --vectors {vectors} --pairs latin.txt
relations --vectors {vectors} --pairs ragged.vec
relations --model vocab.txt
relations --vectors {vectors} {vectors}
initializers --model {model}
initializers --model {model} --target {model} --vectors {vectors}
initializers --model {model} --target {model}
initializers --model {model} --target nothing/at/all
initializers --model {model} --target vocab.txt
initializers --model {model} --target weightless
initializers --model {model} --target bpe
initializers --model {model} --vectors nothing
initializers --model {model} --vectors {narrow}
initializers --model {model} --vectors {vectors} --corpus {text}
initializers --model {model} --vectors {vectors} --held-out 10000
initializers --model vocab.txt --vectors {vectors}
adapt --preset grean-bert --model {model} --vectors {vectors} --out out
adapt --model {model} --out out
adapt --model {model} --vectors {vectors} --normalize --out out
adapt --preset green-bert-random --model {model} --vectors {vectors} --method ridge --out out
adapt --model {model} --vectors {vectors} --corpus {text} --out out
adapt --model vocab.txt --vectors {vectors} --out out
adapt --model {model} --vectors {vectors} --recipe bad.toml --out out
adapt --model bpe --vectors {vectors} --out out
adapt --model weightless --vectors {vectors} --out out
adapt --model alien --vectors {vectors} --out out
adapt --preset green-bert --recipe bad.toml --model {model} --vectors {vectors} --out out
certify --before {model} --after nothing/at/all
certify --before vocab.txt --after {model}
tokenize text --model nothing/at/all
tokenize text --model bpe
lens --model {model}
lens text --terms --model {model}
lens text --model nothing/at/all
lens text --model bpe
lens empty.txt --model {model}
lens latin.txt --model {model}
lens binary.txt --model {model}
lens text --model {model} --casing cased
convert {model} --out out
convert nothing/at/all --out out
convert evil --out out
finetune --model {model} --task ner --out out
finetune --model {model} --task ner --train tagged.tsv
finetune --model {model} --task ner --train tagged.tsv --out out --tokenization adapted
finetune --model {model} --task ner --train tagged.tsv --out out --freeze top-7
finetune --model {model} --task nothing --out out
finetune --model {model} --task bad.toml --out out
finetune --model weightless --task ner --train tagged.tsv --out out
finetune --model bpe --task ner --train tagged.tsv --out out
finetune --model vocab.txt --task ner --train tagged.tsv --out out
finetune --model evil --task ner --train tagged.tsv --out out
evaluate --run nothing
evaluate --run {model}
predict --model nothing tagged.tsv --out out
predict --model {model} tagged.tsv --out out
zero-shot --model {model} --train missing.json --test missing.json --out out
zero-shot --model {model} --train tagged.tsv --test tagged.tsv --out out
answer --model nothing --context {text} --question who
answer --model {model} --context {text} --question who
compare {model}
compare {model} {model}
jobs list --workspace empty.txt
jobs show nothing
jobs show ../x
jobs cancel nothing
jobs cancel ../../x
jobs resume nothing --workspace w
workspace list --workspace empty.txt
workspace rename models/none new --workspace w
workspace rename models none --workspace w
workspace rename ../x/y new --workspace w
workspace note models/none text --workspace w
workspace note jobs/none text --workspace w
workspace delete models/none --workspace w
workspace delete jobs/../x --workspace w
workspace trash --workspace empty.txt
workspace restore none --workspace w
workspace restore ../x --workspace w
workspace empty-trash --workspace empty.txt
workspace copy --out {text} --workspace w
workspace copy --out copy --workspace empty.txt
workspace export --out export.zip --workspace w
workspace export --out none/export.zip --workspace w
workspace open missing.zip --out opened
workspace open empty.txt --out opened
app --workspace empty.txt
tokenize heart --model pipe
tokenize heart --model runaway
words count {text} --model runaway
words count {text} --model shared-id
lens text --model far-id
advise {text} --model runaway
vocabulary compare runaway vocab.txt
vocabulary study --model shared-id --corpus {text}
vectors train {text} --model far-id --out out
vectors contextual --model layers --corpus {text} --length 64 --out out
pretrain --model layers --stage whole --corpus {text} --length 16 --out out
pretrain --model settings --stage whole --corpus {text} --length 16 --out out
finetune --model layers --task ner --train tagged.tsv --out out
finetune --model float8 --task ner --train tagged.tsv --out out
project --model float8 --out m.html
diagnose float8
change --before {model} --after float8
align --vectors {vectors} --model index
initializers --model index --vectors {vectors}
relations --model index
adapt --model settings --vectors {vectors} --method ridge --out out
adapt --model {model} --preset transfer-syntactic --target shared-id --out out
certify --before {model} --after layers-list
gates --model layers-list --corpus {text}
answer --model layers-list --context {text} --question who
convert pipe --out out
""".strip().splitlines()


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow")
    (folder / "n.vec").write_text("".join(f"{word} {i} 1\n" for i, word in enumerate(KNOWN)))
    assert main(["vectors", "import", str(folder / "n.vec"), "--out", str(folder / "n")]) == 0
    return folder / "n"


@pytest.fixture
def bad_things(tmp_path, bad_folder):
    """Files and folders that no command should take, in the folder where it runs."""
    for one in bad_folder.iterdir():
        (tmp_path / one.name).symlink_to(one)


@pytest.fixture(scope="module")
def bad_folder(tmp_path_factory, tiny_bert):
    """Files and models, each with one thing wrong that a library would take badly; all models:
    tests/models/test_model_door.py.
    """
    root = tmp_path_factory.mktemp("bad")
    vocabulary = "\n".join(TINY_TOKENS) + "\n"
    for name, content in {
        "empty.txt": b"",
        "binary.txt": bytes(range(256)) * 100,
        "latin.txt": "Krankheitsfälle der Ärzte\n".encode("latin-1") * 10,
        "ragged.vec": b"a 1 2\nb 1\n",
        "nan.vec": b"a 1 2\nb nan 1\n",
        "lying.vec": b"5 2\na 1 2\nb 3 4\n",
        "good.vec": b"a 1 2\nb 3 4\n",
        "evil.bin": pickle.dumps({"a": [1.0]}),
        "vocab.txt": vocabulary.encode(),
        "faulty.txt": f"{vocabulary}\nheart".encode(),
        "tagged.tsv": b"heart\tB\nof\tO\n",
        "bad.toml": b"[vectors]\nepoch = 1\n",
    }.items():
        (root / name).write_bytes(content)
    os.mkfifo(root / "pipe")
    _spoil_models(root, tiny_bert)
    return root


def _spoil_models(root, model):
    from safetensors.torch import load_file, save
    from tokenizers import Tokenizer, models
    from torch import float8_e4m3fn

    def copy(name, file, content):
        shutil.copytree(model, root / name)
        bare = content if isinstance(content, bytes) else json.dumps(content).encode()
        (root / name / file).write_bytes(bare)

    spec = json.loads((model / "tokenizer.json").read_text())
    config = json.loads((model / "config.json").read_text())
    pattern = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "x"}
    copy("runaway", "tokenizer.json", spec | {"normalizer": pattern})
    for name, token_id in (("shared-id", 7), ("far-id", 2**31)):
        vocabulary = spec["model"]["vocab"] | {"zzz": token_id}
        copy(name, "tokenizer.json", spec | {"model": spec["model"] | {"vocab": vocabulary}})
    copy("bpe", "tokenizer.json", json.loads(Tokenizer(models.BPE({"a": 0, "b": 1}, [])).to_str()))
    copy("alien", "config.json", config | {"architectures": ["MartianModel"]})
    copy("layers", "config.json", config | {"num_hidden_layers": 10**9})
    copy("layers-list", "config.json", config | {"architectures": 5})
    copy("settings", "tokenizer_config.json", {"cls_token": {"content": 5}})
    copy("index", "model.safetensors.index.json", [1])
    tensors = load_file(model / "model.safetensors")
    rows = "bert.embeddings.word_embeddings.weight"
    copy("float8", "model.safetensors", save(tensors | {rows: tensors[rows].to(float8_e4m3fn)}))
    copy("evil", "pytorch_model.bin", pickle.dumps(print))
    shutil.copytree(model, root / "weightless")
    for name in ("evil", "weightless"):
        (root / name / "model.safetensors").unlink()


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_message_and_leaves_nothing(
    refused, bad_things, line, text, tiny_bert, vectors, narrow
):
    places = {"{text}": text, "{model}": tiny_bert, "{vectors}": vectors, "{narrow}": narrow}
    refused(*(str(places.get(word, word)) for word in line.split()))


def test_a_text_that_is_not_utf8_is_refused(refused, tiny_bert):
    for command in ("tokenize", "lens"):
        assert "UTF-8" in refused(command, "a\udcffb", "--model", tiny_bert)


@pytest.mark.parametrize("text", ["", "   ", "\u200b"])
def test_a_text_without_words_has_no_figures(refused, tiny_bert, text):
    assert "no words" in refused("lens", text, "--model", tiny_bert)


def test_every_command_has_bad_inputs():
    found = {find_command(line.split())[0] for line in BAD}
    assert set(COMMANDS) - found == {"presets", "tasks list"}  # these take nothing else


@pytest.mark.parametrize(
    ("line", "code", "value"),
    [
        ("adpt", "unknown-command", "'adapt'"),
        ("word count x", "unknown-command", "'words count'"),
        ("vectors trian", "missing-command", "train"),
        ("jobs fly", "missing-command", "resume"),
        ("tokenize x --modle y", "unknown-option", "--model"),
        ("vectors train x --model y --min_count 3", "unknown-option", "--min-count"),
        ("vectors train x --model y --epoch 3", "unknown-option", "--epochs"),
        ("presets --jsno", "unknown-option", "--json"),
        ("tokenize x", "invalid-arguments", "--model"),
        ("adapt --preset green-brt --model m --vectors v --out o", "unknown-preset", "green-bert"),
        ("align --vectors v --model m --method procrustus", "unknown-choice", "procrustes?"),
        ("align --vectors v --model m --method x", "unknown-choice", "least-squares"),
        ("align --vectors v --model m --folds 1", "out-of-range", "--folds"),
        ("vectors train x --model y --epochs many", "out-of-range", "'many'"),
        ("advise x --model y --out=", "invalid-value", "--out"),
    ],
)
def test_a_mistake_has_a_code_and_names_the_nearest_match(refused_with, line, code, value):
    refused_with(line, code, value)


@pytest.mark.parametrize("place", ["demo", "workspace"])
def test_an_unknown_model_is_named_by_a_folder_that_has_it(refused_with, tmp_path, place):
    folder = DEMO / "models" / "demo-bert"
    if place == "workspace":
        folder = Path("workspace", "models", "demo-bert")
        (tmp_path / folder).mkdir(parents=True)
        Manifest("models", "demo-bert", {}).save(tmp_path / folder)
    refused_with("lens drug --model demo-bert --offline", "unknown-model", f" {folder}.")


def test_an_unknown_model_names_that_of_the_demo(refused_with):
    refused_with("lens drug --model no/pe --offline", "unknown-model", DEMO / "models")


def test_an_existing_folder_names_the_option_that_overwrites(
    refused_with, text, tiny_bert, tmp_path
):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    refused_with(f"vectors train {text} --model {tiny_bert} --out out", "", "(--overwrite)")


def test_another_python_is_told_which_one_to_use(refused, monkeypatch):
    def lack(module):
        monkeypatch.setattr(command_runner, "run", lambda _: importlib.import_module(module))

    lack("no_such_package")
    said = refused("tokenize", "a word")
    assert "no_such_package" in said and sys.executable in said
    for module in ("vocadapt.no_such_module", "numpy.no_such_module"):  # no user's error
        lack(module)
        with pytest.raises(ModuleNotFoundError):
            main(["tokenize", "a word"])
