"""The display name of an alignment: its method and all settings that are not the default."""

from vocadapt.spaces.alignment.methods import AlignmentSettings


def describe_method(settings: AlignmentSettings) -> str:
    """Return the display name of an alignment: its method and all non-default settings."""
    anchors = settings.anchors
    default = AlignmentSettings()
    named = {
        "normalized": settings.unit,
        "centered": settings.center,
        f"ridge {settings.ridge:g}": settings.ridge,
        f"{settings.weights} weights": settings.weights != "none",
        "no single characters": anchors.single_characters,
        "no digits": anchors.digits,
        "no continuation pieces": anchors.continuation,
        f"anchors from {anchors.min_count} occurrences": anchors.min_count,
        f"seed {settings.seed}": settings.seed != default.seed,
        f"length {settings.vector_length}": settings.vector_length != default.vector_length,
        f"{settings.mlp_epochs} epochs": settings.mlp_epochs != default.mlp_epochs,
        f"{settings.induction_rounds} rounds": (
            settings.induction_rounds != default.induction_rounds
        ),
        f"cutoff {settings.induction_cutoff}": (
            settings.induction_cutoff != default.induction_cutoff
        ),
    }
    extras = [name for name, differs in named.items() if differs]
    return " · ".join([settings.method.replace("-", " ").capitalize(), *extras])
