#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/performance.md and its pictures: text from performance.md.in, figures of a run from JSON."""
import argparse
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True

import plots  # noqa: E402
import report  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"


def ahead(run, results):
    """Per peer; compared with Mortise, and with the mode that shares its locks."""
    lines = []
    for bench in run["benches"]:
        for peer in bench["peers"]:
            for ours in bench["ours"]:
                if ours != bench["ours"][0] and bench["shares"].get(ours) != peer:
                    continue
                found = list(results.ahead(bench["title"], ours, peer))
                if found:
                    than = "" if ours == bench["ours"][0] else f", compared with {ours}"
                    lines.append(f"- **{peer}** at {bench['title']}{than}: " + "; ".join(found) + ".")
                elif ours == bench["ours"][0]:
                    lines.append(f"- **{peer}** at {bench['title']}: nowhere.")
    return "\n".join(lines)


def about(run):
    return "\n".join([
        f"- Machine: {run['machine']}.",
        f"- Versions: {'; '.join(run['versions'])}.",
        f"- {run['rounds']} rounds in {run['seconds'] // 60} minutes: `{run['command']}`."])


def filled(template, run, results, pictures):
    def table(match):
        for bench in run["benches"]:
            if bench["title"] == match[2]:
                if match[1] == "TABLE":
                    return results.table(bench["title"], bench["ours"] + bench["peers"])
                lines = [f"- {line}." for line in results.between(bench["title"])]
                return "\n".join(["Hand-overs from one library to another:", "", *lines] * bool(lines))
        return "This run has no figures of it."

    text = re.sub(r"@(TABLE|BETWEEN) (\w+)@", table, template)
    text = text.replace("@AHEAD@", ahead(run, results)).replace("@ABOUT@", about(run))
    for picture in pictures:
        text = text.replace(f"@PLOT {picture.name}@", f"![{picture.alt()}](performance/{picture.name}.svg)")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=pathlib.Path, nargs="?", default=HERE / "results.json",
                        help="what ./dev bench peers --json has written (default: the stored results)")
    parser.add_argument("--docs", type=pathlib.Path, default=DOCS, metavar="DIR",
                        help="folder for the page and its pictures (default: docs)")
    given = parser.parse_args()
    run = json.loads(given.json.read_text())
    if run["quick"] and given.docs.resolve() == DOCS:
        sys.exit("a quick run measures nothing: no page for it")
    results = report.Results(run["figures"], run.get("spreads"))
    template = (HERE / "performance.md.in").read_text()
    given.docs.mkdir(parents=True, exist_ok=True)
    pictures = plots.draw(run, results, given.docs / "performance")
    (given.docs / "performance.md").write_text(filled(template, run, results, pictures))


if __name__ == "__main__":
    main()
