"""Winoground split by the cause of difficulty (Diwan et al. 2022)."""

from dataclasses import replace
from pathlib import Path

from zoo.benchmarks.annotations import (
    case_count_notes,
    check_kind,
    check_subsets,
    find_annotation_file,
)
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.winoground import HUB, SUBSET, Winoground
from zoo.support.schema import read_object

FILE = "winoground/new_tag_assignments.json"
PLAIN = "plain"
CASES = {
    PLAIN: 172,
    "Ambiguously Correct": 46,
    "Complex Reasoning": 78,
    "Non Minimal": 30,
    "Unusual Image": 56,
    "Unusual Text": 50,
    "Visually Difficult": 38,
}


class WinogroundTags(Benchmark):
    """Winoground, split by tags that name a difficulty (`plain`: 172 cases without a tag).

    A tag names a reason why a case is difficult. Each subset except `plain` has the cases with one
    of the tags. 55 cases have several tags, so they are in several subsets. The cases of `plain`
    have no tag.

    As in `winoground`, protocol `group` reports three metrics. Metric `text` requires that each
    image chooses its caption. Metric `image` requires that each caption chooses its image. Metric
    `group` requires both. A tie is wrong.

    Args:
        file: The annotations of Winoground, as in `winoground`. None for the default path.
        tags: The file of tags. None for the default path.
        subsets: The chosen subsets; None for all.

    Examples:
        The numbers of cases of two tags:

        >>> from zoo.benchmarks import WinogroundTags
        >>> tags = ["plain", "Complex Reasoning"]
        >>> {subset.name: subset.n for subset in WinogroundTags(subsets=tags).subsets}
        {'plain': 172, 'Complex Reasoning': 78}
    """

    name = "winoground_tags"
    licence = "MIT (tags), Meta's research licence of Winoground (cases)"
    citation = (
        "Diwan et al., Why is Winoground Hard? Investigating Failures in Visuolinguistic "
        "Compositionality, EMNLP 2022, arXiv:2211.00768"
    )
    hub = Winoground.hub
    subset_names = tuple(CASES)

    def __init__(
        self, file: str | None = None, tags: str | None = None, subsets: list[str] | None = None
    ) -> None:
        self.file, self.tags = file, tags
        self.wanted = check_subsets(self.name, subsets, self.subset_names)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen tags."""
        instructions = HUB.download_instructions("winoground_tags")
        file, named = self.tags or FILE, self.tags is not None
        return tuple(
            Subset(tag, (file,), CASES[tag], instructions, chance=SUBSET.chance, from_user=named)
            for tag in self.wanted
        )

    def read(self, root: Path) -> Contents:
        """Returns the cases of each tag, if the tags and Winoground exist."""
        path, winoground = (
            find_annotation_file(root, self.subsets[0]),
            Winoground(self.file).read(root),
        )
        if path is None or not winoground.cases:
            return Contents([], [], list(self.subsets))
        tags = {
            case: [check_kind(tag, CASES, place) for tag in assigned_tags] or [PLAIN]
            for place, case, assigned_tags in read_object(path, list[str])
        }
        cases = [
            replace(case, subset=subset.name)
            for subset in self.subsets
            for case in winoground.cases
            if subset.name in tags.get(case.id, ())
        ]
        counts = [(s, sum(case.subset == s.name for case in cases)) for s in self.subsets]
        notes = case_count_notes(counts)
        n_untagged = sum(case.id not in tags for case in winoground.cases)
        if n_untagged:
            notes["untagged"] = f"{n_untagged:,} cases of Winoground are not in the file of tags"
        return Contents(cases, [path, *winoground.files], [], notes)
