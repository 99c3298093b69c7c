"""Curves of a benchmark as an SVG for the documentation."""

from collections.abc import Mapping, Sequence

import numpy as np

COLORS = ("#E69F00", "#009E73", "#0072B2", "#D55E00", "#CC79A7")  # Okabe and Ito's
LEFT, TOP, WIDTH, HEIGHT = 60, 20, 560, 320  # of the plot
LABEL_HEIGHT = 14

Curve = Sequence[tuple[float, float]]


def draw_curves(
    curves: Mapping[str, Curve], ticks: Mapping[str, float], step: float, caption: str
) -> str:
    """Draw curves by name, each named at its end.

    ticks: labels of the horizontal axis with their values. step: between two lines of the vertical
    axis. caption: below the plot.
    """
    points = [point for curve in curves.values() for point in curve]
    left, right = min(*ticks.values(), *(x for x, _ in points)), max(x for x, _ in points)
    low = np.floor(min(y for _, y in points) / step) * step
    high = np.ceil(max(y for _, y in points) / step) * step

    def place(x: float, y: float) -> tuple[float, float]:
        """Return the position of a point."""
        return (
            LEFT + WIDTH * (x - left) / (right - left),
            TOP + HEIGHT * (high - y) / (high - low),
        )

    # 1. The axes.
    parts = []
    for value in np.arange(low, high + step / 2, step):
        x, y = place(left, value)
        label = f"{value:.1f}".replace("0.", ".", 1)
        parts.append(f'<path d="M{x:.0f} {y:.1f}h{WIDTH}" stroke="#8886"/>')
        parts.append(f'<text x="{x - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for label, value in ticks.items():
        x, _ = place(value, low)
        parts.append(f'<text x="{x:.1f}" y="360" text-anchor="middle">{label}</text>')

    # 2. The curves, the highest end first; names must not overlap.
    by_height = sorted(curves.items(), key=lambda one: -one[1][-1][1])
    lowest = 0.0
    for (name, curve), color in zip(by_height, COLORS, strict=False):
        line = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in curve)
        x, y = place(*curve[-1])
        lowest = y = max(y, lowest + LABEL_HEIGHT)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" fill="{color}">{name}</text>')
    parts.append(f'<text x="340" y="383" text-anchor="middle">{caption}</text>')
    head = (
        'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 390" font-family="sans-serif"'
        ' font-size="12" fill="#777"'
    )
    return "\n".join([f"<svg {head}>", *parts, "</svg>\n"])
