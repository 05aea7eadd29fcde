# SPDX-License-Identifier: MIT
"""Pictures of a run, as SVG. page.py calls it. A picture has its own background, light or
dark like the reader's screen, so that its text has contrast on every page."""
import dataclasses
import html
import math
import typing

from report import written

WIDTH = 440  # close to the width of a telephone, so the text is legible there
LEFT, RIGHT = 150, 356  # of the axis
ROW = 24
RADIUS = 4.5

# class: (light, dark); each text has a contrast of more than 4.5
COLOURS = {"ground": ("#ffffff", "#0d1117"), "ink": ("#1f2328", "#e6edf3"), "grid": ("#d0d7de", "#3d444d"),
           "ours": ("#0969da", "#58a6ff"), "peer": ("#57606a", "#9ea7b3")}


@dataclasses.dataclass(frozen=True)
class Dot:
    label: str
    text: str
    value: float = None  # None: the library cannot do it
    least: float = None
    most: float = None
    ours: bool = False


@dataclasses.dataclass(frozen=True)
class Picture:
    name: str
    title: typing.Sequence[str]  # the finding, in lines
    subtitle: typing.Sequence[str]
    rows: list  # a Dot, or the head of a group
    tick: typing.Callable = lambda value: f"{value:,.0f}" if value >= 1 else f"{value:g}"
    one: bool = False  # whether the axis has a line at 1, which is Mortise

    def alt(self):
        return " ".join(self.title)


def values_of(results, bench, figure):
    """@return the medians and the rounds of each side, or nothing"""
    for found, medians, rounds in results.of(bench):
        if found == figure:
            return medians, rounds
    return {}, {}


def dots_of(run, results, figure, text):
    """One group for each server."""
    rows = []
    for bench in run["benches"]:
        medians, rounds = values_of(results, bench["title"], figure)
        if medians:
            rows.append(bench["title"])
        for side, value in medians.items():
            if value is None:
                rows.append(Dot(side, "cannot"))
            else:
                rows.append(Dot(side, text(value), value, min(rounds[side]), max(rounds[side]),
                                side in bench["ours"]))
    return rows


def in_ms(value):
    """@param value microseconds"""
    return f"{value / 1000:.2g} ms" if value < 10_000 else f"{value / 1000:.0f} ms"


def rounds_of(run):
    return f"Dot: median, line: {run['rounds']} rounds."


def handoff(run, results):
    figure = "hand-over between processes, p50, µs"
    medians, _ = values_of(results, "Redis", figure)
    return Picture("handoff", ["Waiters are woken: the next process has the",
                               f"lock after {medians['Mortise'] / 1000:.1f} ms"],
                   ["From unlock() in one process to the return of lock()",
                    f"in another. Less is better. {rounds_of(run)}"],
                   dots_of(run, results, figure, in_ms), tick=lambda value: f"{value / 1000:g} ms")


def threads(run, results):
    figure = "32 threads, a name each, cycles/s"
    medians, _ = values_of(results, "Redis", figure)
    others = [medians["Mortise"] / medians[peer] for peer in run["benches"][0]["peers"] if peer in medians]
    return Picture("threads", [f"32 threads share one client: {min(others):.1f} to {max(others):.0f} times",
                               "the throughput of the others at Redis"],
                   ["Lock and unlock per second, one name per thread.",
                    f"More is better. {rounds_of(run)}"],
                   dots_of(run, results, figure, written))


HELD = [("Client memory", "client memory with {:,} locks, total, MB", "MB"),
        ("Client CPU", "client CPU while holding {:,} locks, %", "% of a core"),
        ("Server memory per lock", "server bytes per held lock", "bytes")]


def holding(run, results):
    rows, ahead = [], {}
    for what, pattern, unit in HELD:
        for bench in run["benches"]:
            figure = pattern.format(run["held"])
            medians, rounds = values_of(results, bench["title"], figure)
            base = medians.get("Mortise")
            if not base:
                continue
            rows.append(f"{what}, {bench['title']} (Mortise: {written(base)} {unit})")
            for peer in bench["peers"]:
                if medians.get(peer) is None:
                    rows.append(Dot(peer, "cannot"))
                    continue
                dot = Dot(peer, f"× {medians[peer] / base:.2g}", medians[peer] / base,
                          min(rounds[peer]) / base, max(rounds[peer]) / base)
                rows.append(dot)
                if dot.most < min(rounds["Mortise"]) / base:
                    ahead.setdefault(what.lower(), []).append(peer)
    title = [f"{' and '.join(ahead['client memory'])} needs less client memory," if ahead.get("client memory")
             else "Mortise needs the least client memory,",
             f"{' and '.join(ahead['client cpu'])} less client CPU" if ahead.get("client cpu")
             else "and the least client CPU"]
    return Picture("holding", title, [f"While {run['held']:,} locks are held; Mortise = 1.",
                                      f"Less is better. {rounds_of(run)}"], rows, one=True)


PICTURES = (handoff, threads, holding)


def style():
    light = " ".join(f".{name}{{fill:{colour[0]};stroke:{colour[0]}}}" for name, colour in COLOURS.items())
    dark = " ".join(f".{name}{{fill:{colour[1]};stroke:{colour[1]}}}" for name, colour in COLOURS.items())
    return (f"<style>text{{font-family:-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;font-size:14px;stroke:none!important}} "
            f"{light} @media (prefers-color-scheme:dark){{{dark}}}</style>")


def text(x, y, words, kind="ink", more=""):
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" {more}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, kind, width=1):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width}"/>'


def svg(picture):
    dots = [row for row in picture.rows if isinstance(row, Dot) and row.value is not None]
    low = math.floor(math.log10(min(dot.least for dot in dots)))
    high = math.log10(max(dot.most for dot in dots)) + 0.1

    def place(value):
        return LEFT + (math.log10(value) - low) / (high - low) * (RIGHT - LEFT)

    top = 20 * len(picture.title) + 18 * len(picture.subtitle) + 18
    bottom = top + ROW * len(picture.rows) + 4
    out = [text(12, 24 + 20 * number, words, more='style="font-size:16px;font-weight:600"')
           for number, words in enumerate(picture.title)]
    out += [text(12, 24 + 20 * len(picture.title) + 18 * number, words, "peer")
            for number, words in enumerate(picture.subtitle)]
    for exponent in range(low, math.floor(high) + 1):
        x = place(10.0**exponent)
        out += [line(x, top, x, bottom, "grid"),
                text(x, bottom + 17, picture.tick(10.0**exponent), "peer", 'text-anchor="middle"')]
    if picture.one:
        out.append(line(place(1), top, place(1), bottom, "ours", 2))
    for number, row in enumerate(picture.rows):
        y = top + ROW * (number + 0.5)
        if isinstance(row, str):
            out.append(f'<rect class="ground" x="8" y="{y - ROW / 2:g}" width="{WIDTH - 16}" height="{ROW}" stroke="none"/>')
            out.append(text(12, y + 5, row, more='style="font-weight:600"'))
            continue
        kind = "ours" if row.ours else "peer"
        out.append(text(LEFT - 12, y + 5, row.label.replace("Mortise ", ""), kind, 'text-anchor="end"'))
        out.append(text(WIDTH - 12, y + 5, row.text, "ink" if row.value is not None else "peer", 'text-anchor="end"'))
        if row.value is not None:
            least, most = place(row.least), place(row.most)
            out += [line(least, y, most, y, kind, 2), line(least, y - 7, least, y + 7, kind, 2),
                    line(most, y - 7, most, y + 7, kind, 2),
                    f'<circle class="{kind}" cx="{place(row.value):.1f}" cy="{y:g}" r="{RADIUS}"/>']
    height = bottom + 30
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{html.escape(picture.alt())}</title>", style(),
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8" stroke="none"/>', *out, "</svg>"]) + "\n"


def draw(run, results, folder):
    """@return the pictures that were drawn"""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [make(run, results) for make in PICTURES]
    for picture in drawn:
        (folder / f"{picture.name}.svg").write_text(svg(picture))
    return drawn
