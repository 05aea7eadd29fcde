# SPDX-License-Identifier: MIT
"""The figures of all rounds, and their tables: Mortise's median, and the others' as ratios to it."""
import statistics

# Of these more is better, of all others less.
MORE_IS_BETTER = ("cycles/s", "grants/s")
CANNOT = "cannot"
BETWEEN = " frees, "  # in the names of hand-offs from one library to another


def percentile(samples, share):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


def written(value):
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(value):
    return f"× {value:.2f}" if value < 10 else f"× {value:,.0f}"


def without_unit(figure):
    name, _, unit = figure.rpartition(", ")
    return name if unit in ("µs", "s", "MB", "%") else figure


def better(figure, value, than):
    """Not where the page writes that they are the same: what each worker renews besides falls into one
    run and not into the other, and adds a request to thousands."""
    if than and ratio(value / than) == ratio(1):
        return False
    return value > than if figure.endswith(MORE_IS_BETTER) else value < than


class Results:
    """Figures by bench, name and side, in the order in which they came; a list with all rounds. A
    side that cannot do what the figure counts has None in it."""

    def __init__(self, rounds=()):
        self.figures = {}
        for each in rounds:
            self.figures.setdefault((each["bench"], each["figure"]), {})[each["side"]] = each["rounds"]

    def add(self, bench, figure, side, value):
        self.figures.setdefault((bench, figure), {}).setdefault(side, []).append(value)

    def all(self):
        return [{"bench": bench, "figure": figure, "side": side, "rounds": values}
                for (bench, figure), sides in self.figures.items()
                for side, values in sides.items()]

    def of(self, bench):
        """@return for each figure its name, and the medians and rounds by side; None = cannot"""
        for (where, figure), found in self.figures.items():
            if where == bench:
                medians = {side: None if None in rounds else statistics.median(rounds)
                           for side, rounds in found.items()}
                yield figure, medians, found

    def table(self, bench, sides):
        """The first side in its unit, each other one as a ratio to it; in bold where it is ahead."""
        base, *others = sides
        head = [bench, base, *others, "spread"]
        lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
        for figure, medians, rounds in self.of(bench):
            if base in medians and BETWEEN not in figure:
                lines.append([figure, written(medians[base]),
                              *(self.cell(figure, medians, base, side) for side in others),
                              f"{spread(medians, rounds):.0%}"])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    @staticmethod
    def cell(figure, medians, base, side):
        if side not in medians:
            return ""
        if medians[side] is None:
            return CANNOT
        if medians[base] <= 0:
            return written(medians[side])
        text = ratio(medians[side] / medians[base])
        return f"**{text}**" if better(figure, medians[side], medians[base]) else text

    def between(self, bench):
        """Hand-offs from one library to another, in lines; they are of no side."""
        ends = ", p50, µs"
        found = {figure: medians for figure, medians, _ in self.of(bench)}
        for figure, medians in found.items():
            if BETWEEN in figure and figure.endswith(ends):
                (side, p50), = medians.items()
                p99 = found[figure.replace("p50", "p99")][side]
                alone = found["hand-off between processes, p50, µs"][side]
                yield (f"{figure.removesuffix(ends)}: p50 {ratio(p50 / alone)}, p99 "
                       f"{ratio(p99 / alone)} of the p50 of {side} alone")

    def ahead(self, bench, base, peer):
        """Figures in which a peer is ahead of us, each with the ratio."""
        for figure, medians, rounds in self.of(bench):
            ours, theirs = medians.get(base), medians.get(peer)
            if ours and theirs is not None and better(figure, theirs, ours):
                apart = (max(rounds[peer]) < min(rounds[base]) or
                         min(rounds[peer]) > max(rounds[base]))
                yield (f"{without_unit(figure)} ({ratio(theirs / ours)}"
                       f"{'' if apart else ', within the spread'})")


def spread(medians, rounds):
    """(largest - smallest round) / median, the widest of the sides."""
    return max(((max(values) - min(values)) / medians[side] for side, values in rounds.items()
                if medians[side]), default=0)
