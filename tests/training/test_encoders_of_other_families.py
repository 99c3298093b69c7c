"""Training of encoders that are no BERT: RoBERTa, ModernBERT, XLM-R and others, with byte-level BPE and
Unigram vocabularies. Tokens are those of the model's own tokenizer.
"""

import gzip
import json
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch

from tests.material.architectures import ARCHITECTURES, build_tiny_model
from tests.material.byte_level import build_gpt2, build_tiny
from tests.material.finetuning import ner_task, texts
from tests.material.input_errors import raises_input_error
from tests.material.nightly import mark_slow
from tests.material.pretraining import write_meals
from vocadapt.cli import main
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.certificate import Edit, run_check
from vocadapt.models.contextual.masked_loss import (
    WindowSettings,
    build_loss_windows,
    check_masked_head,
    compute_masked_loss,
    compute_scores_at,
)
from vocadapt.models.contextual.occurrences import ContextualSettings, find_targets, find_word_spans
from vocadapt.models.contextual.word_vectors import compute_contextual_vectors, load_until_layer
from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.text.words import write_sentences
from vocadapt.training.distillation import ContextTokenizer, Distiller
from vocadapt.training.encoding.encoding import EncodingSettings, build_view, encode_words
from vocadapt.training.encoding.model_tokenizers import load_tokenizers
from vocadapt.training.examples.examples import Answer, Question, Sentence, Split, Text
from vocadapt.training.finetune.finetune import finetune, freeze, prepare
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.finetune.trainer import restrict_embeddings
from vocadapt.training.masked.blocks import Blocks, pack_blocks
from vocadapt.training.masked.continued import ContinuedSettings, continue_and_save
from vocadapt.training.masked.from_scratch import ScratchSettings, pretrain_from_scratch
from vocadapt.training.masked.sentence_pairs import pack_pairs
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.prediction.fill_mask import fill_mask
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.task import Task
from vocadapt.training.trained_parameters import NEW_EMBEDDINGS, find_new_ids
from vocadapt.training.training_text import write_training_text
from vocadapt.vocabulary.families import family_of, vocabulary_of
from vocadapt.vocabulary.initializers.initialize import DistilSettings, NewEmbeddings, Provenance
from vocadapt.vocabulary.initializers.materials import AttentionSettings
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan

pytestmark = pytest.mark.usefixtures("one_thread")

NOT_MASKED = ("electra-discriminator", "gpt2", "llama", "qwen2", "qwen3", "t5")
MASKED = [name for name in ARCHITECTURES if name not in NOT_MASKED]
TRAINED = ["roberta", "modernbert", "xlm-roberta", "deberta-v3", "albert"]
QUICK = MaskedSettings(length=16, batch=8, lr=3e-3, tokens=16 * 8 * 12)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of a tiny model of each architecture, built when it is first asked for; read only."""
    place = tmp_path_factory.mktemp("architectures")
    built = {}

    def get(name):
        if name not in built:
            built[name] = build_tiny_model(name, place / name)
        return open_model(built[name])

    return get


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_meals(tmp_path_factory.mktemp("text") / "text.txt", 700, "We had ({}) today.")


@pytest.mark.parametrize("kind", ["biomedical-abstracts", "general-wikipedia", "legal-contracts"])
def test_packed_tokens_are_those_of_the_tokenizer_on_real_lines(kind, shared, tmp_path):
    tokenizer = build_gpt2(shared)
    vocabulary = vocabulary_of(tokenizer)
    special = {"cls": vocabulary.tokens[0], "sep": vocabulary.tokens[1]}
    vocabulary = replace(vocabulary, declared_roles=special)
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    with gzip.open(shared / "data" / "text" / f"{kind}.txt.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line, _ in zip(file, range(150), strict=False)]
    corpus = tmp_path / "text.txt"
    corpus.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sentences = tmp_path / "sentences.txt"
    write_sentences(open_corpus([corpus]), splitter, sentences, pretokens=True)
    blocks = pack_blocks(sentences, vocabulary, 64)

    encoded = [tokenizer.encode(line, add_special_tokens=False) for line in lines]
    wanted = list(chain.from_iterable(one.ids for one in encoded))
    n_packed = len(blocks) * 62
    assert n_packed > 0.9 * len(wanted) > 1000
    assert blocks.ids[:, 1:-1].ravel().tolist() == wanted[:n_packed]
    # A word begins where the tokenizer says that another pre-token does.
    starts = []
    for one in encoded:
        starts += [a != b for a, b in zip([None, *one.word_ids], one.word_ids, strict=False)]
    assert blocks.starts[:, 1:-1].ravel().tolist() == starts[:n_packed]
    assert (~vocabulary.is_continuation[blocks.ids] != blocks.starts).any()


def test_whole_pretokens_are_masked_also_without_a_mark_at_their_start(tmp_path):
    tokenizer = build_tiny()
    roles = {"cls": "<s>", "sep": "</s>", "mask": "<mask>", "pad": "<pad>"}
    vocabulary = replace(vocabulary_of(tokenizer), declared_roles=roles)
    file = tmp_path / "sentences.txt"
    # hypertension at the start of a line, and inside one.
    file.write_text("hypertension Ġhypertension ( hypertension )\n", encoding="utf-8")
    tokens = list(chain.from_iterable(map(vocabulary.tokenize, file.read_text().split())))
    blocks = pack_blocks(file, vocabulary, len(tokens) + 2)
    assert [vocabulary.tokens[i] for i in blocks.ids[0]] == ["<s>", *tokens, "</s>"]
    words = np.cumsum(blocks.starts[0])
    assert words.max() == 7  # <s>, five pre-tokens, </s>
    seen = set()
    for seed in range(60):
        ids, labels = blocks.mask_block(0, np.random.default_rng(seed), 0.4)
        masked = labels != -100
        for word in range(2, 7):
            assert len({bool(value) for value in masked[words == word]}) == 1
            seen.add((word, bool(masked[words == word][0])))
        assert not masked[[0, -1]].any() and (ids[~masked] == blocks.ids[0][~masked]).all()
    assert len(seen) == 10


def test_blocks_without_starts_begin_words_where_no_token_continues_one(tiny_bert):
    vocabulary = open_model(tiny_bert).vocabulary
    row = [vocabulary.ids[token] for token in ("[CLS]", "hyper", "##tension", "pain", "[SEP]")]
    ids = np.array([row], dtype=np.int32)
    starts = np.array([[True, True, False, True, True]])
    for seed in range(20):
        plain, marked = (
            blocks.mask_block(0, np.random.default_rng(seed), 0.5)
            for blocks in (Blocks(ids, vocabulary), Blocks(ids, vocabulary, starts=starts))
        )
        assert all(np.array_equal(a, b) for a, b in zip(plain, marked, strict=True))


def test_sentences_end_at_pretokens_with_an_end_mark(tmp_path):
    roles = {"cls": "<s>", "sep": "</s>", "mask": "<mask>", "pad": "<pad>"}
    vocabulary = replace(vocabulary_of(build_tiny()), declared_roles=roles)
    file = tmp_path / "sentences.txt"
    file.write_text("a Ġb .) Ġc .\nd . Ġe 3.5 Ġf ...\n", encoding="utf-8")
    pairs = pack_pairs(file, vocabulary, 24)
    shown = ["".join(vocabulary.tokens[i] for i in row) for row in pairs.ids]
    firsts = [text.split("</s>")[0].removeprefix("<s>") for text in shown]
    assert firsts == ["aĠb.)", "d."] and pairs.starts.shape == pairs.ids.shape


def test_characters_and_bytes_of_masked_words_are_those_of_words_without_the_space():
    tokenizer = build_tiny()
    roles = {"cls": "<s>", "sep": "</s>", "mask": "<mask>", "pad": "<pad>"}
    vocabulary = replace(vocabulary_of(tokenizer), declared_roles=roles)
    splitter = family_of(tokenizer).make_splitter(tokenizer)
    settings = WindowSettings(share=1.0)
    text = "naïve  café, 7"
    (window,) = build_loss_windows([text], splitter, vocabulary, settings)
    # naïve | Ġ | Ġcafé | , | Ġ7: the space alone is no word.
    assert (window.words, window.characters, window.bytes) == (4, 11, 13)
    assert int((~window.hidden).sum()) == 3
    assert window.ids.tolist() == tokenizer.encode(text).ids


@pytest.mark.parametrize("name", MASKED)
def test_scores_at_some_positions_are_those_of_the_network(name, folders):
    model = folders(name)
    network = model.network
    check_masked_head(network)
    ids = torch.tensor(model.fast_tokenizer.encode("the heart disease of the patients").ids)
    ids = torch.stack([ids, ids.flip(0)])
    attended, places = torch.ones_like(ids), torch.zeros_like(ids, dtype=torch.bool)
    places[0, [1, 3]] = places[1, 2] = True
    with torch.no_grad():
        wanted = network(input_ids=ids, attention_mask=attended).logits[places]
        found = compute_scores_at(network, ids, attended, places)
        assert compute_scores_at(network, ids, attended, places & False).shape[0] == 0
        again = network(input_ids=ids, attention_mask=attended).logits[places]
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert torch.equal(again, wanted)  # nothing of the call stays


@pytest.mark.parametrize("name", NOT_MASKED)
def test_networks_without_such_a_head_are_refused(name, folders):
    with raises_input_error("no-masked-head"):
        check_masked_head(folders(name).network)


@pytest.mark.parametrize("name", MASKED)
def test_the_loss_is_the_same_alone_and_in_a_batch(name, folders):
    model = folders(name)
    lines = ["the heart of the patients", "pain", "We study cancer, and a drug for heart disease."]
    windows = list(
        build_loss_windows(lines, model.splitter, model.vocabulary, WindowSettings(share=0.5))
    )
    windows = [window for window in windows if window.words]
    together = compute_masked_loss(model.network, model.vocabulary, windows)
    alone = [compute_masked_loss(model.network, model.vocabulary, [one]).nats for one in windows]
    assert together.nats == pytest.approx(sum(alone), rel=1e-4)
    assert together.per_byte == together.nats / together.bytes <= together.per_character


@pytest.mark.parametrize("name", TRAINED)
def test_continued_pretraining(name, folders, text, tmp_path):
    settings = ContinuedSettings("continued", training=QUICK)
    done = continue_and_save(folders(name), open_corpus([text]), settings, tmp_path / "m")
    report = done.report
    assert report.loss_per_character["after"] < report.loss_per_character["before"]
    # Plain ASCII: a character is a byte.
    assert report.loss_per_byte == pytest.approx(report.loss_per_character)
    after = open_model(tmp_path / "m")
    assert after.vocabulary.tokens == folders(name).vocabulary.tokens
    assert type(after.network) is type(folders(name).network)


def adapt(model, folder, words=("tea", "plums", "milk")):
    """Add the forms of some words that a model does not have as tokens."""
    vocabulary = model.vocabulary
    tokens = [vocabulary.spell(word) for word in words]
    added = tuple(AddedWord(token, vocabulary.tokenize(token)) for token in tokens)
    plan = VocabularyPlan(vocabulary, added)
    rng = np.random.default_rng(1)
    matrix = rng.normal(scale=0.02, size=(len(tokens), model.dim)).astype(np.float32)
    rows = NewEmbeddings(tuple(tokens), matrix, (Provenance("drawn"),) * len(tokens))
    return open_model(apply_plan(model, plan, rows).save(folder))


@pytest.mark.parametrize("name", TRAINED)
def test_only_new_embeddings_are_trained_in_every_family(name, folders, text, tmp_path):
    before = folders(name)
    model = adapt(before, tmp_path / "adapted")
    new = find_new_ids(model)
    assert len(new) == 3
    training = replace(QUICK, weight_decay=0.5)
    settings = ContinuedSettings("continued", trained=NEW_EMBEDDINGS, training=training)
    done = continue_and_save(model, open_corpus([text]), settings, tmp_path / "m")
    report = done.report
    n_old = len(model.vocabulary) - len(new)
    assert report.old_embeddings == {"of": n_old, "bit_equal": n_old}
    assert report.optimizer_bytes <= 4 * (2 * report.trainable + 2)
    assert report.trainable <= len(new) * (model.dim + 1)
    after = open_model(tmp_path / "m")
    assert (after.space.matrix[new] != model.space.matrix[new]).any(axis=1).all()
    certified = Edit(before, after)
    for check in ("kept embeddings", "new embeddings", "output bias", "other tensors", "token ids"):
        found = run_check(check, certified)
        assert found.passed, (check, found.detail)


@pytest.mark.parametrize(
    ("trainer", "architecture", "network"),
    [
        ("byte-level-bpe", "roberta", "RobertaForMaskedLM"),
        ("byte-level-bpe", "modernbert", "ModernBertForMaskedLM"),
    ],
)
def test_from_scratch(trainer, architecture, network, text, tmp_path):
    training = replace(QUICK, tokens=16 * 8 * 90)
    settings = ScratchSettings(
        320, trainer, architecture, layers=2, hidden=64, cased=True, training=training
    )
    made = pretrain_from_scratch(open_corpus([text]), settings)
    loss = made.report.loss_per_character
    assert loss["after"] < loss["unigram"] < loss["before"]
    assert made.report.loss_per_byte["after"] == pytest.approx(loss["after"])
    made.save(tmp_path)
    model = open_model(tmp_path)
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    loaded, report = AutoModelForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert type(loaded).__name__ == network
    assert not report["missing_keys"] and not report["unexpected_keys"]
    line = "We had red apples, and Hot tea."
    assert (
        AutoTokenizer.from_pretrained(tmp_path)(line).input_ids
        == model.fast_tokenizer.encode(line).ids
    )
    assert model.vocabulary.list_missing("cls", "sep", "mask", "pad") == []
    filled = fill_mask(model, f"We had red {model.vocabulary.roles['mask']} and hot tea today.", 5)
    assert sum(probability for _, probability in filled["base"].tokens) > 0.2
    # The longest block of the training fits, and one more token does not.
    longest = model.vocabulary.role_ids["mask"] * torch.ones(1, 16, dtype=torch.long)
    assert loaded(longest).logits.shape == (1, 16, len(model.vocabulary))


def test_a_trainer_and_an_architecture_are_chosen_in_the_command(text, tmp_path, capsys):
    command = ["pretrain", "--from-scratch", "--corpus", str(text), "--out", str(tmp_path / "m")]
    command += ["--trainer", "byte-level-bpe", "--architecture", "roberta", "--layers", "1"]
    command += ["--vocabulary", "300", "--hidden", "64", "--length", "16", "--tokens", "256"]
    assert main([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer["loss_per_byte"]) == {"before", "after", "unigram"}
    assert open_model(tmp_path / "m").architecture == "RobertaForMaskedLM"


DISTIL = DistilSettings(contexts=20, passes=30, length=16, batch=1, lr=0.02)
# One layer tells less of an embedding than all layers: more passes, and a lower bound.
ATTENTION = AttentionSettings(contexts=20, passes=80, length=16, batch=1, lr=0.01)


@pytest.mark.parametrize(
    ("name", "settings", "bound"),
    [
        ("roberta", DISTIL, 0.8),
        *mark_slow((name, DISTIL, 0.8) for name in ("modernbert", "xlm-roberta", "gpt2")),
        *mark_slow((name, ATTENTION, 0.7) for name in ("bert", "roberta", "gpt2")),
    ],
)
def test_the_embedding_of_a_known_token_is_recovered(name, settings, bound, folders, tmp_path):
    """A token that is replaced by itself has one embedding with distance 0: its old one."""
    model = folders(name)
    token = model.vocabulary.spell("heart")
    assert model.vocabulary.tokenize(token) == (token,)
    sentences = tmp_path / "sentences.txt"
    rng = np.random.default_rng(0)
    known = ["the", "patients", "drug", "cancer", "with", "pain", "trial"]
    corpus = tmp_path / "text.txt"
    lines = [[*rng.choice(known, 4), "heart", *rng.choice(known, 3)] for _ in range(40)]
    corpus.write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    write_sentences(open_corpus([corpus]), model.splitter, sentences, pretokens=True)
    plan = VocabularyPlan(model.vocabulary, (), replaced=(token,))
    true = model.space.matrix[model.space.rows([token])]
    start = rng.normal(scale=0.02, size=true.shape).astype(np.float32)
    rows, contexts = Distiller(model, sentences, True)(plan, start, settings)
    assert contexts.tolist() == [settings.contexts]
    centered, truth = (value - value.mean(axis=1, keepdims=True) for value in (rows, true))
    cosine = float((centered * truth).sum() / np.linalg.norm(centered) / np.linalg.norm(truth))
    before = float(
        ((start - start.mean()) * truth).sum()
        / np.linalg.norm(start - start.mean())
        / np.linalg.norm(truth)
    )
    assert cosine > max(bound, before)


def test_forms_of_a_word_have_one_distilled_embedding(folders):
    model = folders("roberta")
    vocabulary = model.vocabulary
    forms = ("Ġtachycardia", "tachycardia")
    added = (
        AddedWord(forms[0], vocabulary.tokenize(forms[0])),
        AddedWord(forms[1], vocabulary.tokenize(forms[1]), form_of=forms[0]),
    )
    reader = ContextTokenizer(model, VocabularyPlan(vocabulary, added), True, 64)
    assert [reader.find_new_tokens(form) for form in forms] == [[0], [0]]
    assert reader.find_new_tokens("Ġtachycardias") == []
    first, last = (reader.align_context([form, "Ġpain"], 0) for form in forms)
    assert first.new[1] == last.new[1] == len(vocabulary)
    n_old = len(vocabulary.tokenize(forms[0]))
    assert first.positions == [(0, 0), (n_old, 1), (n_old + 1, 2), *first.positions[3:]]


@pytest.mark.parametrize("name", ["roberta", "modernbert", "xlm-roberta", "deberta-v2", "bert"])
def test_pairs_have_the_template_of_the_tokenizer(name, folders):
    model = folders(name)
    (tokenizer,) = load_tokenizers(model).values()
    first, second = "the heart of the patients", "pain and cancer"
    ids = tokenizer.ids([first, second])
    view = build_view(tokenizer, 0, ids[first], ids[second])
    assert view.ids.tolist() == model.fast_tokenizer.encode(first, second).ids
    assert view.ids[view.second :].tolist()[: len(ids[second])] == ids[second].tolist()
    alone = build_view(tokenizer, 0, ids[first])
    assert alone.ids.tolist() == model.fast_tokenizer.encode(first).ids


@pytest.mark.parametrize("name", ["roberta", "modernbert", "xlm-roberta", "deberta-v2", "bert"])
def test_tagged_words_have_the_tokens_of_the_line(name, folders):
    model = folders(name)
    words = ("the", "heart", "of", "patients", "hypertension")
    encoded = encode_words(
        [Sentence(words, None)], load_tokenizers(model), EncodingSettings(64, 30)
    )
    (view,) = encoded.views["base"]
    # The first word, too, is tokenized as after a space, as transformers does with split words.
    line = " ".join(words)
    if name in ("roberta", "modernbert"):
        line = f" {line}"
    assert view.ids.tolist() == model.fast_tokenizer.encode(line).ids
    assert view.places.tolist()[:4] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["bert", "roberta", "xlm-roberta", "modernbert"])
def test_a_reduced_matrix_gives_the_same_outputs_with_padding(name, folders):
    model = folders(name)
    network, pad = model.network.base_model, model.vocabulary.role_ids["pad"]
    embeddings = network.get_input_embeddings()
    lines = ["the heart of the patients", "pain"]
    rows = [model.fast_tokenizer.encode(line).ids for line in lines]
    ids = np.full((2, max(map(len, rows))), pad)
    for row, own in enumerate(rows):
        ids[row, : len(own)] = own
    mask = torch.from_numpy((ids != pad).astype(np.int64))
    with torch.inference_mode():
        wanted = network(input_ids=torch.from_numpy(ids), attention_mask=mask)[0]
    with restrict_embeddings(network, ids.ravel(), pad) as renamed, torch.inference_mode():
        assert len(network.get_input_embeddings().weight) < len(model.vocabulary)
        found = network(input_ids=torch.from_numpy(renamed[ids]), attention_mask=mask)[0]
    assert network.get_input_embeddings() is embeddings
    attended = mask.bool()
    torch.testing.assert_close(found[attended], wanted[attended])


def question_task():
    questions = [
        Question(
            str(number),
            "what hurts ?",
            f"{word} is the disease of the patients",
            (Answer(word, 0),),
        )
        for number, word in enumerate(("heart", "blood", "cancer", "pain") * 2)
    ]
    return Task("toy", TASK_KINDS["qa"], {"train": Split(tuple(questions))}, ())


def text_task():
    pairs = tuple(
        Text(one.id, one.text, one.labels, pair="the patients of the trial") for one in texts(8)
    )
    return Task(
        "toy", TASK_KINDS["nli"], {"train": Split(pairs), "test": Split(pairs)}, ("ill", "well")
    )


@pytest.mark.parametrize("trained", ["all", NEW_EMBEDDINGS])
@pytest.mark.parametrize("task", [ner_task, text_task, question_task])
@pytest.mark.parametrize("name", ["roberta", "modernbert", "xlm-roberta"])
def test_fine_tuning_on_every_head(name, task, trained, folders, tmp_path):
    words = ("hurts", "?") if task is question_task else ("tachycardia", "euthymia")
    model = adapt(folders(name), tmp_path / "adapted", words)
    settings = FinetuneSettings(12 if trained == "all" else 2, 4, lr=5e-3, trained=trained)
    run = finetune(prepare(model, task(), settings))
    if trained == "all":
        losses = [loss for _, loss in run.curve]
        assert np.mean(losses[-4:]) < np.mean(losses[:4])
        return
    assert run.old_embeddings["bit_equal"] == run.old_embeddings["of"] > 0
    assert run.optimizer_bytes < 20 * run.trainable
    new = find_new_ids(model)
    trained_rows = run.network.get_input_embeddings().weight.detach().numpy()[new]
    assert (trained_rows != model.space.matrix[new]).any(axis=1).all()


@pytest.mark.parametrize("name", ["roberta", "modernbert", "distilbert"])
def test_the_top_layer_is_found(name, folders):
    from vocadapt.models.heads import TOKEN, load_with_new_head

    network = load_with_new_head(folders(name), TOKEN, ("O", "B"), 1)
    freeze(network, FinetuneSettings(freeze="top-1"))
    body = f"{network.base_model_prefix}."
    trained = {n for n, v in network.named_parameters() if v.requires_grad and n.startswith(body)}
    assert trained and all(".1." in one for one in trained)
    assert any(value.requires_grad for value in network.classifier.parameters())


def test_vectors_in_context_are_the_mean_of_the_pieces_of_a_word(folders, tmp_path):
    model = folders("roberta")
    corpus = tmp_path / "text.txt"
    line = "(tachycardia) was the pain of tachycardia."
    corpus.write_text(f"{line}\n" * 3, encoding="utf-8")
    sentences = tmp_path / "s.txt"
    counts = write_sentences(
        open_corpus([corpus]), model.splitter, sentences, pretokens=True
    ).counts
    settings = ContextualSettings(layer=-1, length=60, min_count=1, occurrences=100)
    targets = find_targets(counts, model.vocabulary, settings, splitter=model.splitter)
    assert dict(zip(targets.names, targets.counts.tolist(), strict=True))["tachycardia"] == 6
    space = compute_contextual_vectors(sentences, targets, model, settings).space
    encoded = model.fast_tokenizer.encode(line)
    with torch.no_grad():
        states = load_until_layer(model, 2)(torch.tensor([encoded.ids])).last_hidden_state[0]
    ends = [(1, 12), (30, 41)]
    means = []
    for start, end in ends:
        inside = [i for i, (a, b) in enumerate(encoded.offsets) if a < end and b > start]
        means.append(states[inside].mean(dim=0).numpy())
    np.testing.assert_allclose(space["tachycardia"], np.mean(means, axis=0), atol=1e-5)


def test_words_in_one_pretoken_have_the_pieces_that_overlap_with_them(folders):
    model = folders("xlm-roberta")
    (pretoken,) = model.splitter.pretokens("(patients),")
    pieces = ("▁(", "pati", "ents", "),")
    found = find_word_spans(pretoken, pieces, model.vocabulary, model.splitter)
    assert found == [("(", 0, 1), ("patients", 1, 2), (")", 3, 1), (",", 3, 1)]


def test_a_vocabulary_without_a_mask_is_refused_where_it_is_needed(folders, text, tmp_path):
    model = folders("gpt2")
    with raises_input_error("no-mask-token"):
        compute_masked_loss(model.network, model.vocabulary, [])
    material = write_training_text(open_corpus([text]), model.splitter, tmp_path)
    assert material.lines > 600  # reading a text needs no special tokens


def test_a_decoder_is_neither_fine_tuned_nor_trained_by_masking(folders, text, tmp_path):
    model = folders("gpt2")
    with raises_input_error("unsuitable-model"):
        prepare(model, ner_task(), FinetuneSettings())
    settings = ContinuedSettings("continued", training=QUICK)
    with raises_input_error("unsuitable-model", "gpt2"):
        continue_and_save(model, open_corpus([text]), settings, tmp_path / "m")
    assert not list(tmp_path.iterdir())
