# SPDX-License-Identifier: MIT
"""The figures of all rounds, and the table of their medians."""
import statistics

# Of these more is better, of all others less.
MORE_IS_BETTER = ("cycles/s", "grants/s")


def percentile(samples, share):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


def written(value):
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Results:
    """Figures by bench, name and side, in the order in which they came; a list with all rounds."""

    def __init__(self):
        self.figures = {}

    def add(self, bench, figure, side, value):
        self.figures.setdefault((bench, figure), {}).setdefault(side, []).append(value)

    def all(self):
        return [{"bench": bench, "figure": figure, "side": side, "rounds": values}
                for (bench, figure), sides in self.figures.items()
                for side, values in sides.items()]

    def table(self, bench, sides):
        """Medians; the first side is the peer, each other one has its ratio beside it."""
        peer, *ours = sides
        head = [bench, peer, *(word for side in ours for word in (side, "ratio")), "spread"]
        lines = [head, ["---"] * len(head)]
        for (where, figure), found in self.figures.items():
            if where == bench:
                lines.append(self.row(figure, found, peer, ours))
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    @staticmethod
    def row(figure, found, peer, ours):
        medians = {side: statistics.median(values) for side, values in found.items()}
        row = [figure, written(medians[peer]) if peer in medians else ""]
        for side in ours:
            both = side in medians and medians.get(peer, 0) > 0
            row.append(written(medians[side]) if side in medians else "")
            row.append(f"{medians[side] / medians[peer]:.2f}" if both else "")
            ahead = both and (medians[side] < medians[peer] if figure.endswith(MORE_IS_BETTER)
                              else medians[side] > medians[peer])
            if ahead:
                row[-1] = f"**{row[-1]}**"
        spreads = [(max(values) - min(values)) / medians[side]
                   for side, values in found.items() if medians[side] > 0]
        return row + [f"{max(spreads, default=0):.0%}"]
