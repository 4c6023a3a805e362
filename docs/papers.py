"""Writes papers.md from papers.yaml and the study files: `python docs/papers.py`."""

import re
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).parent
STUDIES = DOCS.parent / "configs" / "studies"
HEAD = """# Tables and figures of four papers

One row per table or figure: what runs it, and with which departures from the paper. `zoo study`
trains, measures and compares; the head of each study file has the paper's figures. No table was run
at full scale, since pretrained weights and complete benchmarks were not there. *Run here* says what
was run; "smallest form" is one seed and 3 steps of 8 captions per row with an untrained `zoo-tiny`,
on 980 photographs of Flickr8k. It shows that a study runs from captions to its table, and nothing
else.

`python docs/papers.py` writes this page from `docs/papers.yaml` and the study files.
"""


def read_head(study: str) -> list[str]:
    """Returns the comment lines at the head of a study file, without `# `."""
    lines = (STUDIES / f"{study}.yaml").read_text("utf-8").splitlines()
    end = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return [line[1:].removeprefix(" ") for line in lines[:end]]


def departures(head: list[str]) -> str:
    """Returns the departures that the head of a study states, without a final full stop."""
    text = " ".join(head)
    stated = re.search(r"Departures: (.*)", text)
    return stated[1].rstrip(".") if stated else "none stated"


def render_row(row: dict[str, Any], runs: dict[str, str]) -> str:
    """Returns the row of a table or figure."""
    if "missing" in row:
        cells = [row["of"], "", f"not available: {row['missing']}", "", ""]
    elif "study" in row:
        study = row["study"]
        head = read_head(study)
        what = row.get("what") or re.sub(r"^.*?Tables? [\d, to and]+: ", "", head[0]).rstrip(".")
        first = next(line.strip() for line in head if line.startswith("  zoo study "))
        link = f"[`{first.partition(' --')[0]}`](../configs/studies/{study}.yaml)"
        cells = [row["of"], what, link, departures(head), runs[study]]
    elif "page" in row:
        command = f"`{row['command']}`, " if "command" in row else ""
        name = Path(row["page"]).name
        cells = [row["of"], row["what"], f"{command}[{name}]({row['page']})"]
        cells += [row["departures"], row["run"]]
    else:
        cells = [row["of"], row["what"], "nothing to run", "", ""]
    return "| " + " | ".join(cells) + " |"


def render(papers: list[dict[str, Any]], runs: dict[str, str]) -> str:
    """Returns the page."""
    parts = [HEAD]
    for paper in papers:
        table = [
            f"## {paper['paper']}\n\n{paper['title']}.\n",
            "| table, figure | what | what runs it | departures | run here |",
            "|---|---|---|---|---|",
            *(render_row(row, runs) for row in paper["rows"]),
        ]
        studies = dict.fromkeys(row["study"] for row in paper["rows"] if "study" in row)
        commands = dict.fromkeys(row["command"] for row in paper["rows"] if "command" in row)
        commands |= dict.fromkeys(
            line.strip()
            for study in studies
            for line in read_head(study)
            if line.startswith("  zoo study ")
        )
        parts.append("\n".join(table) + "\n\n```bash\n" + "\n".join(commands) + "\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Writes the page."""
    content = yaml.safe_load((DOCS / "papers.yaml").read_text("utf-8"))
    (DOCS / "papers.md").write_text(render(content["papers"], content["runs"]), "utf-8")


if __name__ == "__main__":
    main()
