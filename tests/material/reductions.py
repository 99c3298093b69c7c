"""A vocabulary to reduce."""

from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary

SPECIAL = ("[PAD]", "[UNK]")
LETTERS = "abcdehirst"
TOKENS = (
    *SPECIAL,
    "[unused0]",
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    "the",
    "##ing",
    "heart",
    "hearts",
    "##tard",
    "trait",
    "traits",
    "##shed",
)
OWN = WordPieceVocabulary(
    TOKENS, frozenset(SPECIAL)
)  # 31 tokens; seven may leave: [unused0] and the last six
COUNTS = {"heart": 50, "hearts": 1, "tard": 2, "trait": 4, "traits": 9}
