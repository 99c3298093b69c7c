"""The pages of the app and their parts, each declared once.

A page is a file in `pages/` with one entry in the navigation. It has one or several parts, shown as
tabs. A part has a folder in `ui/parts/`, and its name is the prefix of its keys in the address. The
navigation, the links between pages, Home, the lessons and the tests read the pages from here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from vocadapt.errors import InputError
from vocadapt.extensions import register

QueryValue = str | Sequence[str]  # of a query parameter; a list stands for several of one name
# Draws a part on a workspace; it may return where to continue, otherwise the declared part follows.
DrawPart = Callable[[Any], "NextPart | None"]


@dataclass(frozen=True)
class NextPart:
    """A part that a visitor may continue with.

    part: its name. why: one sentence about what to do there. carry: its keys in the address, each
    with the key of the current part whose value it takes. needs: kind of artifact that the
    workspace must have; "" if none. unless: kind of artifact that the workspace must not have; ""
    if none.
    """

    part: str
    why: str
    carry: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    needs: str = ""
    unless: str = ""


@dataclass(frozen=True)
class Part:
    """A view of the lab: a whole page, or one tab of a page.

    name: prefix of its keys in the address. title: title of the page or label of the tab. about:
    one sentence about what it shows (Markdown). terms: terms of the glossary that it explains.
    steps: names of the steps whose jobs it shows, at its top unless shows_running is off: then it
    shows living ones itself, or not at all. following: where to continue; the first one that the
    workspace is ready for is offered. sources: works that it cites, as author and year.
    module: module of `ui/parts` whose function `draw` draws it; "": the module `page` of the folder
    with its name.
    """

    name: str
    title: str
    about: str
    terms: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    following: tuple[NextPart, ...] = ()
    sources: tuple[str, ...] = ()
    shows_running: bool = True
    module: str = ""


@dataclass(frozen=True)
class Page:
    """A page of the navigation.

    name: its address, and the name of its file. section: its heading in the navigation. icon: a
    Material symbol.
    """

    name: str
    title: str
    section: str
    icon: str
    parts: tuple[Part, ...]

    @property
    def file(self) -> str:
        """Path of its file, relative to app.py."""
        return f"pages/{(self.section or 'start').lower()}/{self.name}.py"

    @property
    def tab_key(self) -> str:
        """Query parameter of its open tab."""
        return f"{self.name}_tab"


PARTS = {
    part.name: part
    for part in (
        Part(
            "home",
            "vocadapt",
            "Teach a language model the words of your field, and see at every step what it"
            " changes.",
            ("artifact", "job", "recipe", "step", "workspace"),
            ("corpus", "vectors", "import-vectors", "alignment", "adapt", "finetune"),
            shows_running=False,
        ),
        Part(
            "lessons",
            "Lessons",
            "Eight lessons of a few minutes each. Each asks a question, lets you guess, and"
            " shows the answer on the pages of this lab.",
            ("adapted tokenization", "alignment", "base tokenization", "projection", "wordpiece"),
            following=(NextPart("lens", "See how a model splits a text of your own."),),
        ),
        Part(
            "teacher",
            "Teacher",
            "A one-hour plan, the answers, questions to ask, and the progress of the class in"
            " this workspace.",
            ("workspace",),
            module="lessons.teacher",
        ),
        Part(
            "jobs",
            "Jobs",
            "Long steps run in the background and continue when you leave the page. Check their"
            " progress, cancel or resume them here.",
            ("artifact", "job", "step", "vocabulary pack", "workspace"),
            following=(NextPart("home", "See what comes next."),),
        ),
        Part(
            "storage",
            "Workspace",
            "The contents of this workspace: rename, annotate or delete items, and copy the"
            " workspace or share it as one file.",
            ("artifact", "workspace"),
            following=(NextPart("home", "See what comes next."),),
        ),
        Part(
            "lens",
            "Lens",
            "A model reads :blue[**wordpieces**], not words. See how each model splits a text,"
            " and which words a new vocabulary keeps whole.",
            (
                "added token",
                "fertility",
                "pre-token",
                "tokenization",
                "tokenizer family",
                "wordpiece",
            ),
            ("corpus", "word-counts"),
            (
                NextPart(
                    "advise",
                    "Find out whether new words are worth adding for your text.",
                    needs="corpora",
                ),
                NextPart("text", "Import a text from your own field."),
            ),
        ),
        Part(
            "vocabulary",
            "Vocabulary size",
            "Remove :blue[**wordpieces**] from a vocabulary, see how many more tokens your text"
            " then has, and compare vocabularies.",
            (
                "fertility",
                "heuristic",
                "in sample",
                "reduction",
                "tokenization",
                "trim",
                "wordpiece",
            ),
            ("corpus", "word-counts", "adapt"),
            (NextPart("adapt", "Make a model with a smaller or larger vocabulary."),),
            sources=("Fast 2023",),
        ),
        Part(
            "text",
            "Text",
            "Import a text from your field and see which of its words the model splits into the"
            " most wordpieces.",
            ("fertility", "tokenization", "wordpiece"),
            ("corpus", "word-counts"),
            (
                NextPart(
                    "advise",
                    "Find out whether new words are worth adding for this text.",
                    {"advise_corpus": "text_corpus", "advise_model": "text_model"},
                    needs="corpora",
                ),
            ),
        ),
        Part(
            "advise",
            "Advice",
            "Should you add :green[**new words**] for this text, and how many? The answer needs"
            " word counts only: nothing is trained.",
            (
                "added token",
                "continued pretraining",
                "exBERT",
                "expected P@k",
                "fertility",
                "in sample",
                "preset",
                "recipe",
                "wordpiece",
            ),
            ("corpus", "word-counts", "vectors"),
            (NextPart("vectors", "Train vectors of the words of this text.", needs="corpora"),),
            sources=("Poerner et al. 2020",),
        ),
        Part(
            "vectors",
            "Vectors",
            "A word vector places a word near words that occur in the same contexts. Train the"
            " vectors of the :orange[**words of your field**], or import existing ones.",
            ("artifact", "counted vectors", "space", "word vectors"),
            ("vectors", "import-vectors", "contextual"),
            (
                NextPart(
                    "alignment",
                    "Align these words with the model's embeddings.",
                    {"alignment_vectors": "vectors_vectors"},
                    needs="vectors",
                ),
                # With a text, its own form is what comes next.
                NextPart("text", "Import a text first.", unless="corpora"),
            ),
        ),
        Part(
            "alignment",
            "Alignment",
            "An alignment maps your :orange[**words**] to the model's :blue[**wordpieces**]."
            " See the nearest neighbors on both sides, and how often they are right.",
            (
                "alignment",
                "anchor",
                "chance",
                "CSLS",
                "held-out",
                "P@k",
                "stacked embedding",
                "word vectors",
                "wordpiece",
            ),
            ("alignment",),
            (
                NextPart(
                    "adapt",
                    "Add these words to the model.",
                    {"adapt_vectors": "alignment_vectors", "adapt_model": "alignment_model"},
                    needs="vectors",
                ),
            ),
            sources=("Poerner et al. 2020",),
        ),
        Part(
            "adapt",
            "Model",
            "Make a model with :green[**new words**] in its vocabulary. A certificate lists the"
            " checks that everything else is unchanged.",
            (
                "added token",
                "certificate",
                "embedding",
                "exact word",
                "exBERT",
                "expected P@k",
                "form of a word",
                "GreenBioBERT",
                "in sample",
                "initializer",
                "insertion",
                "plan",
                "preset",
                "recipe",
                "stacked embedding",
            ),
            ("adapt",),
            (
                NextPart(
                    "try",
                    "Type a sentence and see what the adapted model reads.",
                    {"try_model": "adapt_adapted"},
                    needs="models",
                ),
            ),
            sources=("Fast 2023", "Poerner et al. 2020", "Tai et al. 2020"),
        ),
        Part(
            "initializers",
            "Initializers",
            "Where should a :green[**new word**] start among the model's embeddings? Compare"
            " the ways to initialize it, on one word and on words whose true embedding is known.",
            (
                "added token",
                "chance",
                "embedding",
                "held-out",
                "initializer",
                "leaderboard",
                "P@k",
                "replacement test",
                "stacked embedding",
            ),
            ("initializers",),
            (NextPart("adapt", "Adapt a model with one of them."),),
            sources=(
                "Chen et al. 2026",
                "Dobler and de Melo 2023",
                "Fast 2023",
                "Goddard and Fernandes Neto 2025",
                "Haltiuk and Smywiński-Pohl 2025",
                "Kaplan et al. 2025",
                "Mehta et al. 2026",
                "Minixhofer et al. 2022",
                "Poerner et al. 2020",
            ),
        ),
        Part(
            "try",
            "Try it",
            "Type a sentence and see what a model predicts: with its original"
            " :blue[**wordpieces**], and with the :green[**new words**].",
            (
                "adapted tokenization",
                "added token",
                "base tokenization",
                "pooled",
                "run",
                "wordpiece",
            ),
            following=(NextPart("projection", "See where the new words are among the old ones."),),
            module="try_it.page",
        ),
        Part(
            "projection",
            "Projection",
            "Every point is a token; similar tokens are close together, as far as two dimensions"
            " allow. **Neighbors are computed in the original space**, not in the picture.",
            ("alignment", "contextual vector", "projection", "space", "word vectors", "wordpiece"),
            ("projection", "import-layout"),
            (NextPart("change", "See which words have different neighbors."),),
            sources=(
                "Fast 2023",
                "McInnes et al. 2018",
                "Pearson 1901",
                "van der Maaten and Hinton 2008",
            ),
        ),
        Part(
            "change",
            "Neighborhood change",
            "Which words have :violet[**different neighbors**] than before? Compare two spaces,"
            " for example a model before and after adapting it.",
            ("bootstrap", "contextual vector", "noise baseline", "space", "word vectors"),
            ("change", "vectors", "contextual"),
            (NextPart("finetune", "Find out whether the change helps on a task."),),
        ),
        Part(
            "diagnostics",
            "Diagnostics",
            "The shape of an embedding space in figures: how similar two random tokens are, how"
            " long their vectors are, and how similar related words are.",
            ("embedding", "hubness", "isotropy", "space", "word vectors", "wordpiece"),
            (),
            (NextPart("finetune", "Find out on a task which model is better."),),
            sources=("Fast 2023", "Mu and Viswanath 2018", "Rudman et al. 2022"),
        ),
        Part(
            "finetune",
            "Fine-tune",
            "Train models on a task with :blue[**base tokenization**], :green[**adapted"
            " tokenization**] or both, and any number of seeds.",
            (
                "adapted tokenization",
                "base tokenization",
                "benchmark card",
                "collapsed",
                "pooled",
                "preset",
                "run",
                "scorer",
                "task",
                "task kind",
            ),
            ("finetune",),
            (NextPart("results", "See whether a difference is more than noise.", needs="runs"),),
            shows_running=False,
        ),
        Part(
            "results",
            "Results",
            "Is one model better than another, or do only the seeds differ? Mean and spread"
            " over seeds, and a paired test against a baseline.",
            (
                "adapted tokenization",
                "base tokenization",
                "bootstrap",
                "collapsed",
                "permutation test",
                "pooled",
                "run",
                "scorer",
                "task",
                "unit",
            ),
            ("finetune",),
            (NextPart("errors", "Read the examples on which the models differ.", needs="runs"),),
        ),
        Part(
            "pretraining",
            "Pretraining",
            "Let the model read your text before it is fine-tuned. Progress is measured by the"
            " masked-token loss on held-out lines.",
            (
                "continued pretraining",
                "exBERT",
                "extension module",
                "gate",
                "held-out",
                "masked token",
                "masking probability",
                "pretraining from scratch",
                "stage",
            ),
            ("continue-pretraining",),
            (NextPart("finetune", "Fine-tune the pretrained model on a task."),),
            shows_running=False,
        ),
        Part(
            "errors",
            "Error analysis",
            "Compare two runs on the same examples: where they disagree, and how the affected"
            " words are split.",
            (
                "adapted tokenization",
                "base tokenization",
                "outcome",
                "pooled",
                "run",
                "scorer",
                "slice",
                "unit",
            ),
            ("finetune",),
            (NextPart("try", "Edit one of these sentences and predict it again.", needs="runs"),),
        ),
        Part(
            "studies",
            "Studies",
            "A study fine-tunes several variants of a model on several tasks with several"
            " seeds, and compares them in one table. Each cell of its grid is a run with one seed.",
            ("cell", "collapsed", "permutation test", "preset", "run", "study", "task", "variant"),
            ("study",),
            (NextPart("published", "Compare with published tables.", needs="studies"),),
            shows_running=False,
        ),
        Part(
            "search",
            "Search",
            "A search tries settings of fine-tuning, such as the learning rate, and finds those"
            " with the best score on the dev split, averaged over seeds.",
            ("collapsed", "run", "task", "trial"),
            ("search", "seeds"),
            (NextPart("finetune", "Train a model once, with settings of your choice."),),
            sources=("Fast 2023", "Hutter et al. 2014"),
            shows_running=False,
        ),
        Part(
            "published",
            "Published results",
            "Tables of the publications that this lab follows, next to our own scores. A"
            " difference is shown only where data, split, scorer and base model are the same.",
            ("benchmark card", "collapsed", "scorer"),
            (),
            (NextPart("studies", "Define a study to compute such scores."),),
            sources=("Fast 2023", "Poerner et al. 2020", "Strubell et al. 2019", "Tai et al. 2020"),
        ),
    )
}
PAGES = [
    Page("home", "Home", "", "home", (PARTS["home"],)),
    Page("lessons", "Lessons", "", "school", (PARTS["lessons"], PARTS["teacher"])),
    Page("jobs", "Jobs", "", "pending_actions", (PARTS["jobs"], PARTS["storage"])),
    Page(
        "lens",
        "Tokenizer lens",
        "Understand",
        "center_focus_strong",
        (PARTS["lens"], PARTS["vocabulary"]),
    ),
    Page("text", "Your text", "Understand", "article", (PARTS["text"], PARTS["advise"])),
    Page(
        "vectors", "Word vectors", "Build", "scatter_plot", (PARTS["vectors"], PARTS["alignment"])
    ),
    Page("adapt", "Adapt", "Build", "library_add", (PARTS["adapt"], PARTS["initializers"])),
    Page("try_it", "Try it", "Look", "edit_note", (PARTS["try"],)),
    Page("projection", "Projection", "Look", "map", (PARTS["projection"],)),
    Page(
        "compare",
        "Compare spaces",
        "Look",
        "compare_arrows",
        (PARTS["change"], PARTS["diagnostics"]),
    ),
    Page(
        "train",
        "Train",
        "Train",
        "play_circle",
        (PARTS["finetune"], PARTS["results"], PARTS["pretraining"]),
    ),
    Page("errors", "Error analysis", "Train", "troubleshoot", (PARTS["errors"],)),
    Page("studies", "Studies", "Train", "grid_on", (PARTS["studies"], PARTS["search"])),
    Page("published", "Published results", "Train", "menu_book", (PARTS["published"],)),
]
PAGE_OF_PART = {part.name: page for page in PAGES for part in page.parts}
DRAWN: dict[str, DrawPart] = {}  # part of an extension → what draws it
# Page of an extension → its entry in the navigation, which has no file; set by app.py.
ENTRIES: dict[str, Any] = {}


def register_page(page: Page, draw: Mapping[str, DrawPart]) -> None:
    """Add a page of an extension to the navigation, as the last one of its section.

    draw: part of the page → function that draws it on a workspace; it imports streamlit itself,
    since an extension is loaded for every command, too. Raises InputError for a name that is taken
    or invalid, and for parts that are not drawn.
    """
    if page.name in {one.name for one in PAGES}:
        raise InputError(f"There is already a page with the name {page.name!r}.", "Choose another.")
    if {part.name for part in page.parts} != set(draw):
        raise InputError(
            f"The page {page.name} has parts that no function draws, or the reverse.",
            "Give a function for each part.",
        )
    for part in page.parts:
        register(PARTS, "a part", part.name, part)
        PAGE_OF_PART[part.name] = page
        DRAWN[part.name] = draw[part.name]
    PAGES.append(page)


def format_title(part: str) -> str:
    """Return the title of a part as the navigation leads to it: its page, and its tab unless it is
    the first one.
    """
    page = PAGE_OF_PART[part]
    if page.parts[0].name == part:
        return page.title
    return f"{page.title} · {PARTS[part].title}"


def find_link(part: str, **query: QueryValue) -> tuple[Any, dict[str, QueryValue]]:
    """Return the page and the query parameters that open a part: a file, or the entry of an
    extension's page in the navigation.
    """
    page = PAGE_OF_PART[part]
    target = ENTRIES.get(page.name, page.file)
    if len(page.parts) == 1:
        return target, query
    # The first tab is named, too: the link may be followed from another tab of the page.
    return target, {page.tab_key: PARTS[part].title, **query}
