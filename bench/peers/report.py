# SPDX-License-Identifier: MIT
"""The figures of all rounds, and their tables: the median of Mortise, and multiples of it."""
import statistics

# Units of which more is better. Of all others less is better.
MORE_IS_BETTER = ("cycles/s", "grants/s")
CANNOT = "cannot"
FIRST = "Mortise"  # the side that the others are compared with
BETWEEN = "from "  # in the names of hand-overs from one library to another


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
    """False if the page shows both as equal: a renewal may add one request to the thousands of one run."""
    if than and ratio(value / than) == ratio(1):
        return False
    return value > than if figure.endswith(MORE_IS_BETTER) else value < than


class Results:
    """Figures by bench, name and side, in the order of the run; a list with all rounds. The list of a
    side that lacks the feature contains None. If only the median of a figure was kept,
    `spreads` has its spread, by bench and figure."""

    def __init__(self, rounds=(), spreads=None):
        self.figures = {}
        self.spreads = spreads or {}
        self.known_apart = {}  # the result of `apart()`, for entries with a median only
        for each in rounds:
            self.figures.setdefault((each["bench"], each["figure"]), {})[each["side"]] = each["rounds"]
            if "apart" in each:
                self.known_apart[each["bench"], each["figure"], each["side"]] = each["apart"]

    def add(self, bench, figure, side, value):
        self.figures.setdefault((bench, figure), {}).setdefault(side, []).append(value)

    def all(self):
        return [{"bench": bench, "figure": figure, "side": side, "rounds": values}
                for (bench, figure), sides in self.figures.items()
                for side, values in sides.items()]

    def of(self, bench):
        """@return per figure: its name, the medians and the rounds by side; None = cannot"""
        for (where, figure), found in self.figures.items():
            if where == bench:
                medians = {side: None if None in rounds else statistics.median(rounds)
                           for side, rounds in found.items()}
                yield figure, medians, found

    def table(self, bench, sides):
        """The first side in its unit, the others as multiples of it. Bold: ahead; ~: the rounds overlap."""
        base, *others = sides
        head = [bench, base, *others, "spread"]
        lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
        for figure, medians, rounds in self.of(bench):
            if base in medians and not figure.startswith(BETWEEN):
                lines.append([figure, written(medians[base]),
                              *(self.cell(bench, figure, medians, base, side) for side in others),
                              f"{self.spread(bench, figure, medians, rounds):.0%}"])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def cell(self, bench, figure, medians, base, side):
        if side not in medians:
            return ""
        if medians[side] is None:
            return CANNOT
        if medians[base] <= 0:
            return written(medians[side])
        text = ratio(medians[side] / medians[base])
        if better(figure, medians[side], medians[base]):
            text = f"**{text}**"
        return text if self.apart(bench, figure, base, side) else f"~ {text}"

    def apart(self, bench, figure, base, side):
        """Whether the rounds of the two sides do not overlap. True if both are shown as equal."""
        found = self.figures[bench, figure]
        ours, theirs = found[base], found[side]
        medians = statistics.median(ours), statistics.median(theirs)
        if ratio(medians[1] / medians[0]) == ratio(1):
            return True
        if base == FIRST and (bench, figure, side) in self.known_apart:
            return self.known_apart[bench, figure, side]
        if len(ours) > 1 and len(theirs) > 1:
            return max(theirs) < min(ours) or min(theirs) > max(ours)
        wide = 1 + self.spread(bench, figure, {}, {})
        return not 1 / wide <= medians[1] / medians[0] <= wide

    def spread(self, bench, figure, medians, rounds):
        """(largest - smallest round) / median, the widest of the sides."""
        return self.spreads.get(bench, {}).get(figure) or max(
            ((max(values) - min(values)) / medians[side] for side, values in rounds.items()
             if medians[side]), default=0)

    def between(self, bench):
        """Hand-overs from one library to another, as lines."""
        ends = ", p50, µs"
        found = {figure: medians for figure, medians, _ in self.of(bench)}
        for figure, medians in found.items():
            if figure.startswith(BETWEEN) and figure.endswith(ends):
                (side, p50), = medians.items()
                p99 = found[figure.replace("p50", "p99")][side]
                alone = found["hand-over between processes, p50, µs"][side]
                yield (f"{figure.removesuffix(ends)}: p50 {ratio(p50 / alone)} and p99 {ratio(p99 / alone)}, "
                       f"as multiples of the p50 of {side} alone")

    def ahead(self, bench, base, peer):
        """The figures in which a peer is ahead of `base`, each with the ratio."""
        for figure, medians, _ in self.of(bench):
            ours, theirs = medians.get(base), medians.get(peer)
            if ours and theirs is not None and better(figure, theirs, ours):
                yield (f"{without_unit(figure)} ({ratio(theirs / ours)}"
                       f"{'' if self.apart(bench, figure, base, peer) else ', within the spread'})")
