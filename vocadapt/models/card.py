"""The model card of an adapted folder: what it is, how it was made, how to use it."""

from typing import Any

from vocadapt.vocabulary.initialise import Rows
from vocadapt.vocabulary.plan import VocabularyPlan

CARD = """---
library_name: transformers
tags: [vocadapt, vocabulary-adaptation]
---
# {name}, with {added} more words

Made by vocadapt from `{name}`: {added} words of a new domain were added to its {before} tokens{replaced}.
The new rows: {how}. The rest of the network is unchanged, and was not trained further.

```python
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("THIS_FOLDER")
model = AutoModel.from_pretrained("THIS_FOLDER")
output = model(**tokenizer({example!r}, return_tensors="pt")).last_hidden_state
```

- Tokenizer: {mode}. The original tokenizer is in `base/`.
- Examples of added words: {examples}.
- Settings, the whole plan, what each row is made of and the certificate: `vocadapt.json`.
- Before you rely on it: fine-tune and compare with the original model on your own task.
"""


def model_card(name: str, plan: VocabularyPlan, rows: Rows, mode: str) -> str:
    """The text of README.md for an adapted model."""
    words = plan.added_tokens
    values: dict[str, Any] = {
        "name": name,
        "added": len(words),
        "before": len(plan.base),
        "replaced": f", and {len(plan.replaced)} old tokens got a new row" if plan.replaced else "",
        "how": "; ".join(dict.fromkeys(source.how for source in rows.provenance)),
        "example": " ".join(words[:3]),
        "mode": mode,
        "examples": ", ".join(f"`{word}`" for word in words[:12]),
    }
    return CARD.format(**values)
