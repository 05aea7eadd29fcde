# SPDX-License-Identifier: MIT
"""Pictures of a run, one for each figure, drawn by gnuplot. page.py calls it."""
import dataclasses
import math
import subprocess

from report import written

# Readable on white and on black: the picture has no ground of its own, and the page's may be either.
TEXT = "#7a7f87"
OURS = ("#2f7fe0", "#7fb2f0")
PEER = "#a29a8e"
LOG_FROM = 12  # largest / smallest from which on the axis is logarithmic
ROW = 24  # pixels
WIDTH = 760


@dataclasses.dataclass(frozen=True)
class Plot:
    name: str
    title: str
    unit: str
    figures: dict  # by bench

    @property
    def more_is_better(self):
        return self.unit.endswith("/s")


def everywhere(figure):
    return {"Redis": figure, "ZooKeeper": figure}


PLOTS = [
    Plot("cycle", "Lock and unlock a free name, one thread, median", "µs",
         everywhere("lock + unlock, 1 thread, p50, µs")),
    Plot("threads", "Lock and unlock, 32 threads of one client, a name each", "cycles/s",
         everywhere("32 threads, a name each, cycles/s")),
    Plot("try", "A try that finds the lock taken, median", "µs", everywhere("failed try, p50, µs")),
    Plot("handoff", "From unlock() in one process until another one has the lock, median", "µs",
         everywhere("hand-off between processes, p50, µs")),
    Plot("grants", "8 clients take turns at one name, held for 1 ms each", "grants/s",
         everywhere("8 clients, held 1 ms, grants/s")),
    Plot("requests", "8 clients at one name: what a grant costs the server", "requests a grant",
         {"Redis": "commands a grant, 8 clients", "ZooKeeper": "requests a grant, 8 clients"}),
    Plot("take", "Take 10,000 locks, one after the other", "s", everywhere("take 10,000, s")),
    Plot("memory", "Resident memory of a client that holds 10,000 locks", "MB",
         everywhere("client memory with 10,000 held, all, MB")),
    Plot("holding", "CPU of a client while it holds 10,000 locks", "% of one core",
         everywhere("client CPU while holding 10,000, %")),
    Plot("server_bytes", "Memory of the server for a held lock", "bytes",
         {"Redis": "server bytes a held lock"}),
]


@dataclasses.dataclass(frozen=True)
class Bar:
    label: str
    colour: str = PEER
    value: float = None  # None: it cannot
    least: float = None
    most: float = None


def bars_of(plot, run, results):
    """From the top to the bottom; a title of a group is a string."""
    rows = []
    for bench in run["benches"]:
        for figure, medians, rounds in results.of(bench["title"]):
            if figure.replace(f"{run['held']:,}", "10,000") != plot.figures.get(bench["title"]):
                continue
            rows.append(bench["title"])
            for side in bench["ours"] + bench["peers"]:
                if side not in medians:
                    continue
                colour = OURS[bench["ours"].index(side)] if side in bench["ours"] else PEER
                if medians[side] is None:
                    rows.append(Bar(side, colour))
                else:
                    rows.append(Bar(side, colour, medians[side], min(rounds[side]), max(rounds[side])))
    return rows


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tics(start, end):
    """Powers of ten as the tables write them, with short lines for what is between."""
    found = []
    for exponent in range(math.floor(math.log10(start)), math.ceil(math.log10(end))):
        for step in range(1, 10):
            place = step * 10.0**exponent
            if start <= place <= end:
                text = f"{place:,.15g}" if step == 1 else ""
                found.append(f"{quoted(text)} {place:.9g} {int(step > 1)}")
    return ", ".join(found)


def script(plot, rows):
    measured = [row for row in rows if isinstance(row, Bar) and row.value]
    smallest = min(max(row.value, 1e-9) for row in measured)
    largest = max(row.most for row in measured)
    logarithmic = largest / smallest > LOG_FROM
    start = smallest / 2 if logarithmic else 0
    end = (largest / start) ** 0.16 * largest if logarithmic else 1.16 * largest
    axis = [plot.unit] + ["logarithmic axis"] * logarithmic
    axis.append("more is better" if plot.more_is_better else "less is better")
    height = ROW * len(rows) + 88
    lines = [
        f"set terminal svg size {WIDTH},{height} dynamic font 'sans-serif,13' name {quoted(plot.name)}",
        f"set label {quoted(plot.title)} at screen 0.01, screen {1 - 22 / height:.4f} left "
        f"font ',16' textcolor rgb '{TEXT}' noenhanced",
        f"set xlabel {quoted(', '.join(axis))} textcolor rgb '{TEXT}' noenhanced",
        f"set border 1 linecolor rgb '{TEXT}'",
        "set lmargin 26", "set rmargin 3", "set tmargin 3", "unset key", "set tics out",
        f"set xtics nomirror textcolor rgb '{TEXT}' format '%.15g'",
        "unset ytics", f"set xrange [{start:.9g}:{end:.9g}]", f"set yrange [0:{len(rows)}]",
    ]
    if logarithmic:
        lines += ["set logscale x", f"set xtics ({tics(start, end)})"]
    data, whiskers = [], []
    for place, row in enumerate(rows):
        y = len(rows) - place - 0.5
        name, at = (row, "screen 0.01, first {} left") if isinstance(row, str) else (
            row.label, "graph -0.015, first {} right")
        lines.append(f"set label {quoted(name)} at {at.format(y)} textcolor rgb '{TEXT}' noenhanced")
        if isinstance(row, str):
            continue
        value = max(row.value, start) if row.value is not None else start
        text = "cannot" if row.value is None else written(row.value)
        beyond = max(value, row.most or 0)
        lines.append(f"set label {quoted(text)} at first {beyond:.9g}, first {y} left offset 0.7,0 "
                     f"textcolor rgb '{TEXT}' noenhanced")
        if row.value is not None:
            colour = int(row.colour[1:], 16)
            data.append(f"{value:.9g} {y} {start:.9g} {value:.9g} {y - 0.36} {y + 0.36} {colour}")
            whiskers.append(f"{value:.9g} {y} {max(row.least, start):.9g} {row.most:.9g}")
    lines += ["$bars << END", *data, "END", "$rounds << END", *whiskers, "END",
              "set style fill solid 1 noborder",
              "plot $bars using 1:2:3:4:5:6:7 with boxxyerror linecolor rgb variable, \\",
              f"     $rounds using 1:2:3:4 with xerrorbars pointtype 0 linecolor rgb '{TEXT}'"]
    return "\n".join(lines) + "\n"


def draw(run, results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for plot in PLOTS:
        rows = bars_of(plot, run, results)
        if any(isinstance(row, Bar) and row.value for row in rows):
            drawn = subprocess.run(["gnuplot"], input=script(plot, rows), text=True, check=True,
                                   stdout=subprocess.PIPE).stdout
            # It defines marks for points in each file, which no picture of ours has.
            lines = [line.rstrip() for line in drawn.splitlines() if "id='gpPt" not in line]
            (folder / f"{plot.name}.svg").write_text("\n".join(line for line in lines if line) + "\n")
