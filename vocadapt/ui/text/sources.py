"""Published works that pages and lessons cite by author and year, with their titles."""

from collections.abc import Iterable

TITLES = {
    "Chen et al. 2026": (
        "Grounded Token Initialization for New Vocabulary in LMs for Generative Recommendation"
    ),
    "Conneau et al. 2018": "Word Translation Without Parallel Data",
    "Dobler and de Melo 2023": (
        "FOCUS: Effective Embedding Initialization for Monolingual Specialization of Multilingual"
        " Models"
    ),
    "Fast 2023": (
        "Domain Adaptation of Transformer-based Language Models via Low Layer Information"
        " Integration"
    ),
    "Goddard and Fernandes Neto 2025": (
        "Training-Free Tokenizer Transplantation via Orthogonal Matching Pursuit"
    ),
    "Haltiuk and Smywiński-Pohl 2025": "Model-Aware Tokenizer Transfer",
    "Hutter et al. 2014": "An Efficient Approach for Assessing Hyperparameter Importance",
    "Schick and Schütze 2020": "BERTRAM: Improved Word Embeddings Have Big Impact on Contextualized"
    " Model Performance",
    "Kaplan et al. 2025": "From Tokens to Words: On the Inner Lexicon of LLMs",
    "McInnes et al. 2018": (
        "UMAP: Uniform Manifold Approximation and Projection for Dimension Reduction"
    ),
    "Mehta et al. 2026": (
        "Defragmenting Language Models: An Interpretability-based Approach for Vocabulary Expansion"
    ),
    "Minixhofer et al. 2022": (
        "WECHSEL: Effective Initialization of Subword Embeddings for Cross-lingual Transfer of"
        " Monolingual Language Models"
    ),
    "Mu and Viswanath 2018": (
        "All-but-the-Top: Simple and Effective Postprocessing for Word Representations"
    ),
    "Pearson 1901": "On Lines and Planes of Closest Fit to Systems of Points in Space",
    "Poerner et al. 2020": (
        "Inexpensive Domain Adaptation of Pretrained Language Models: Case Studies on Biomedical"
        " NER and Covid-19 QA"
    ),
    "Radovanović et al. 2010": (
        "Hubs in Space: Popular Nearest Neighbors in High-Dimensional Data"
    ),
    "Rudman et al. 2022": "IsoScore: Measuring the Uniformity of Embedding Space Utilization",
    "Strubell et al. 2019": "Energy and Policy Considerations for Deep Learning in NLP",
    "Tai et al. 2020": (
        "exBERT: Extending Pre-trained Models with Domain-specific Vocabulary Under Constrained"
        " Training Resources"
    ),
    "van der Maaten and Hinton 2008": "Visualizing Data using t-SNE",
    "Wattenberg et al. 2016": "How to Use t-SNE Effectively",
}


def find_sources(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the works that some texts cite, in alphabetical order.

    Example: ["CSLS (Conneau et al. 2018)"] -> ("Conneau et al. 2018",).
    """
    cited = "\n".join(texts)
    return tuple(citation for citation in TITLES if citation in cited)


def format_source(citation: str) -> str:
    """Format a work with its title, as Markdown."""
    return f"{citation}, *{TITLES[citation]}*"
