"""Training only the extension keeps every tensor of BERT bit-identical under every head, and the
outputs with open gates."""

import pytest
import torch
import transformers

from tests.material.exbert import made
from tests.material.finetuning import one_thread, sentences, texts
from tests.material.nightly import mark_slow
from tests.material.pretraining import QUICK_PAIRS
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.models.add_extension import list_gates, open_gates
from vocadapt.models.exbert import AUTO
from vocadapt.models.extension_size import is_extension_tensor
from vocadapt.models.language_model import open_model
from vocadapt.models.loading import align_memory
from vocadapt.text.corpus import open_corpus
from vocadapt.training.examples.examples import Answer, Question, Split
from vocadapt.training.finetune.finetune import finetune, prepare
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.masked.continued import ContinuedSettings, continue_and_save
from vocadapt.training.masked.settings import select_trained_parameters
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task
from vocadapt.training.trained_parameters import find_new_ids

READ = {"masked words": ("BertForMaskedLM", False), "pairs": ("BertForPreTraining", True)}
ROWS = "embeddings.word_embeddings.weight"
BY_TOKEN = (
    ROWS,
    "cls.predictions.decoder.weight",
    "cls.predictions.decoder.bias",
    "cls.predictions.bias",
)
LOADING = {"local_files_only": True, "output_loading_info": True}


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    with one_thread():
        yield


@pytest.fixture(scope="module", params=READ)
def pair(request, tmp_path_factory, documents):
    """Folders of a BERT, of the exBERT made of it, and of that after the stage extension; read
    only.
    """
    head, nsp = READ[request.param]
    place = tmp_path_factory.mktemp("stage")
    source = build_tiny_bert(place / "bert", head=head)
    extended = made("exbert-s3", place / "exbert", source, documents)
    (place / "read").mkdir()
    settings = ContinuedSettings("extension", nsp=nsp, training=QUICK_PAIRS)
    continue_and_save(open_model(extended), open_corpus([documents]), settings, place / "read")
    return source, extended, place / "read"


def loaded(auto, folder):
    """The folder under a head, and which of its tensors the files do not hold."""
    network, report = getattr(transformers, auto).from_pretrained(folder, **LOADING)
    align_memory(network)
    return network.eval(), set(report["missing_keys"])


def differing(before, after):
    """Names of BERT's tensors that are not bit for bit in another network; of one entry for each
    token, the old tokens'.
    """
    old, new = before.state_dict(), after.state_dict()
    own = {
        name: new[name][: len(value)] if name.endswith(BY_TOKEN) else new[name]
        for name, value in old.items()
    }
    return {name for name, value in old.items() if not torch.equal(own[name], value)}


def outputs(network, tokens):
    """What it gives for sequences of so many first tokens; scores over tokens are those of
    these.
    """
    ids = torch.randint(5, tokens, (3, 17), generator=torch.Generator().manual_seed(1))
    mask, segments = torch.ones_like(ids), (torch.arange(17) > 5).long().expand(3, 17)
    mask[0, 9:] = 0
    with torch.no_grad():
        found = network(input_ids=ids, attention_mask=mask, token_type_ids=segments).to_tuple()
    return [
        part[..., :tokens] if part.shape[-1] == network.config.vocab_size else part
        for part in found
    ]


@pytest.mark.parametrize("auto", AUTO)
def test_after_the_stage_extension_bert_is_in_the_folder_to_the_bit_under_every_head(auto, pair):
    source, extended, read = pair
    (before, missing), (after, lacking) = loaded(auto, source), loaded(auto, read)
    assert type(after) is AUTO[auto]
    assert lacking == missing
    assert not any(map(is_extension_tensor, lacking))
    assert differing(before, after) <= missing  # a head that no file holds is random
    assert len(missing) < len(before.state_dict()) / 4
    untrained = loaded(auto, extended)[0].state_dict()
    moved = {
        name
        for name, value in after.state_dict().items()
        if not torch.equal(value, untrained[name])
    }
    assert {
        name for name in untrained if is_extension_tensor(name)
    } <= moved  # there was a training

    drawn = {name: value for name, value in before.state_dict().items() if name in missing}
    after.load_state_dict(drawn, strict=False)
    tokens = before.config.vocab_size
    wanted = outputs(before, tokens)
    with open_gates(after):
        found = outputs(after, tokens)
        assert len(found) == len(wanted)
        assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
    assert not torch.equal(outputs(after, tokens)[0], wanted[0])  # half of it is the module's


@pytest.mark.parametrize("auto", AUTO)
def test_a_few_steps_of_the_extension_alone_move_nothing_else_under_any_head(auto, pair):
    """Any task: a loss of all that the network gives, read with dropout on, under an optimizer that
    decays what it may.
    """
    _, extended, _ = pair
    network, _ = loaded(auto, extended)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    new = find_new_ids(open_model(extended))
    separated = select_trained_parameters(network.train(), "extension", new)
    trainable_parameters = [value for value in network.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(trainable_parameters, lr=1e-2, weight_decay=0.1)
    ids = torch.randint(
        5, network.config.vocab_size, (4, 12), generator=torch.Generator().manual_seed(2)
    )
    ids[:, 1] = torch.tensor(new)[:4]
    for _ in range(3):
        optimizer.zero_grad()
        sum(
            part.square().mean()
            for part in network(input_ids=ids).to_tuple()
            if torch.is_tensor(part)
        ).backward()
        optimizer.step()
    separated.merge()
    after = network.state_dict()
    moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
    own = {name for name in before if is_extension_tensor(name)}
    assert moved & own and all(name.endswith(BY_TOKEN) for name in moved - own)
    assert any(name.endswith(ROWS) for name in moved)
    old = network.config.vocab_size - len(new)
    assert all(torch.equal(after[name][:old], before[name][:old]) for name in moved - own)


ANSWERS = tuple(
    Question(str(i), "which drug ?", "the placebo was for pain", (Answer("placebo", 4),))
    for i in range(6)
)
TASKS = {
    "token": Task("toy", TASK_KINDS["ner"], {"train": Split(sentences(6))}, ("Disease",)),
    "sequence": Task(
        "toy", TASK_KINDS["classification"], {"train": Split(texts(6))}, ("ill", "well")
    ),
    "question": Task("toy", TASK_KINDS["qa"], {"train": Split(ANSWERS)}, ()),
}


@pytest.mark.parametrize(
    ("task", "frozen"),
    [
        ("token", "embeddings"),
        ("sequence", "top-1"),
        ("question", "head"),
        *mark_slow(
            [
                ("token", "top-1"),
                ("token", "head"),
                ("sequence", "embeddings"),
                ("sequence", "head"),
                ("question", "embeddings"),
                ("question", "top-1"),
            ]
        ),
    ],
)
def test_fine_tuning_leaves_what_it_freezes_of_a_read_exbert_to_the_bit(task, frozen, pair):
    source, _, read = pair
    model = open_model(read)
    settings = FinetuneSettings(
        epochs=2, batch=3, lr=1e-2, length=32, freeze=frozen, with_dev=True, weight_decay=0.1
    )
    run = finetune(prepare(model, TASKS[task], settings), 1)
    before, after = model.network.bert.state_dict(), run.network.bert.state_dict()
    moved = {
        name for name in before.keys() & after.keys() if not torch.equal(before[name], after[name])
    }
    assert len(list_gates(run.network)) == 2 and run.frozen > 0
    if frozen == "embeddings":
        assert any(map(is_extension_tensor, moved))
        assert not any(name.startswith("embeddings.") for name in moved)
        return
    assert all(
        name.startswith(("encoder.layer.1.", "pooler.") if frozen == "top-1" else "pooler.")
        for name in moved
    )
    assert any(map(is_extension_tensor, moved)) == (frozen == "top-1")
    bert = {
        name: value
        for name, value in open_model(source).network.bert.state_dict().items()
        if name in after.keys() - moved
    }
    assert all(torch.equal(after[name][: len(value)], value) for name, value in bert.items())
    assert len(bert) >= 16 + 5  # a layer and the embeddings, if not more
