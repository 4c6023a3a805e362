"""Half-truths (CS-CLIP, Section 3.2 and Appendix C).

Does a model prefer a true description to the same description with a wrong detail added?
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from zoo.benchmarks.annotations import check_subsets, find_path
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.half_truth.baselines import text_only_baselines
from zoo.benchmarks.half_truth.case_file import half_truth_case, is_case_file, read_cases
from zoo.benchmarks.half_truth.rules import (
    CHECKED,
    CONDITIONS,
    RULES,
    DoubtfulCounts,
    HalfTruthTexts,
    without_doubtful_foils,
)
from zoo.errors import ZooError, suggest_names
from zoo.sources.image_paths import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef
from zoo.support.ranges import PositiveInt
from zoo.units.reader import read_units, unit_files
from zoo.units.record import UnitRecord

INSTRUCTIONS = (
    "`zoo halftruth build UNITS --out {units}` writes cases, `zoo units extract CAPTIONS --out "
    "{units}` the units of captions, and `zoo scenes render` those of scenes"
)
MAX_IMAGES = 5_000
NO_FOILS = "the units have no such foils"


class HalfTruth(Benchmark):
    """Half-truths: is a true text preferred to the same text with a wrong detail added?

    A *unit* is a phrase of a caption: an entity ("a red cup") or a relation ("a cup on a tray").
    `UNITS` is a units file or a case file. A *units file* contains the units of captions, and wrong
    versions of these units. `zoo units extract` writes a units file from your captions, and zoo
    builds the cases from this file in each evaluation. A *case file* contains finished cases. `zoo
    halftruth build` writes a case file from a units file.

    A case is an image with three texts: the anchor, the half-truth and the completion. The anchor
    is a short true text ("tray"). The half-truth adds a wrong detail to the anchor ("tray and blue
    cup"). The completion adds a true detail to the anchor ("tray and red cup").

    The protocol is `half_truth`, with two metrics. Metric `half_truth` is how often the anchor
    scores above the half-truth. Metric `completion` is a control: how often the completion scores
    above the half-truth. A model that only prefers shorter texts is right in `half_truth`, but near
    chance in `completion`. A tie is wrong, except with `--benchmarks.preset public_code`, which
    follows the paper's code.

    Each subset has one kind of wrong detail. In three subsets, the detail is an entity: with a
    wrong noun (`+Obj`), with a wrong attribute (`+Attr`), or of another image (`+Rand`). In the
    other subsets, the detail is a relation: with a wrong attribute (`Rel:Attr`), object
    (`Rel:Obj`), predicate (`Ant`) or subject (`Subj`), or with exchanged subject and object
    (`Swap`).

    The benchmark is from CS-CLIP (Kargi et al., 2026). The paper's cases are not published, so the
    paper's values are only roughly comparable with yours.

    Args:
        units: A case file, a units file or a folder of units files: an absolute path, or one
            relative to the working directory or the data root. A case file determines the preset,
            the seed and the number of images. Other values of these arguments are rejected.
        preset: The rules that build the texts (not a preset of `--presets`). 'paper' follows
            CS-CLIP, Appendix C. 'checked' follows the paper, but leaves out wrong details that
            another caption of the image mentions. 'equal_words' follows the paper, but half-truth
            and completion have the same number of words. 'public_code' behaves like the paper's
            code. See `zoo.benchmarks.half_truth.rules`.
        max_images: The maximum number of images, 5,000 in the paper. zoo samples the images. With
            preset 'public_code', zoo instead takes the first images with entities and the first
            images with relations, at most this number of each.
        seed: The seed of the sampling.
        captions: The data reader of the captions (`zoo ls readers`). It is required if the image
            ids in the units file do not identify image files, as in CS-CLIP's published units. zoo
            then finds the image of a caption by the caption id. All captions of this image that the
            reader finds count as true.
        subsets: The chosen subsets; None for all.

    Examples:
        A unit with a foil makes a case: an anchor, a half-truth and the true completion:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import HalfTruth
        >>> from zoo.units import Entity, EntityFoil, UnitRecord, write_units
        >>> cup = Entity("red cup", (EntityFoil("blue cup", "attribute_change"),))
        >>> record = UnitRecord("1", "1.jpg", "a red cup on a tray", (cup, Entity("tray")))
        >>> _ = write_units([record], "units.jsonl")
        >>> [case] = HalfTruth("units.jsonl").read(Path()).cases
        >>> case.subset, case.texts
        ('+Attr', ('tray', 'tray and blue cup', 'tray and red cup'))
    """

    name = "half_truth"
    colon_argument = "units"
    subset_names = CONDITIONS
    version = 4

    def __init__(
        self,
        units: str,
        preset: str = CHECKED,
        max_images: PositiveInt = MAX_IMAGES,
        seed: int = 0,
        captions: Reader | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        self.wanted = check_subsets(self.name, subsets, self.subset_names)
        if preset not in RULES:
            raise ZooError(
                f"half_truth has no preset {preset!r}{suggest_names(preset, RULES)}: "
                f"choose one of {', '.join(RULES)}"
            )
        self.units, self.preset, self.max_images, self.seed, self.captions = (
            units,
            preset,
            max_images,
            seed,
            captions,
        )

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen conditions; all are built from the same units."""
        chance = {"half_truth": 50.0, "completion": 50.0}
        return tuple(
            Subset(
                c,
                (self.units,),
                None,
                INSTRUCTIONS.format(units=self.units),
                chance,
                from_user=True,
            )
            for c in self.wanted
        )

    def read(self, root: Path) -> Contents:
        """Returns the cases of the chosen conditions.

        Args:
            root: A data root.

        Raises:
            ZooError: The file is invalid, or the reader does not have its captions.
        """
        path = find_path(root, self.units)
        if path is None:
            return Contents([], [], list(self.subsets))
        if is_case_file(path):
            return self._read_case_file(path)
        return self.build_cases(path, list(read_units(path).values()))

    def build_cases(self, path: Path, records: list[UnitRecord]) -> Contents:
        """Builds the cases from units.

        Args:
            path: The units file, or the folder of units files.
            records: The units of these files.

        Raises:
            ZooError: The reader does not have the captions.
        """
        captions = self._captions(records)
        doubtful: dict[str, DoubtfulCounts] = {}
        selected_records = records
        if self.preset == CHECKED:
            selected_records, doubtful = without_doubtful_foils(records, captions)
        all_texts = RULES[self.preset](selected_records, self.max_images, self.seed, captions)
        texts = [text for text in all_texts if text.condition in self.wanted]
        images = self._images(path, texts)
        cases = [
            half_truth_case(
                text.condition,
                text.record.caption_id,
                images[text.record.caption_id],
                (text.anchor, text.half_truth, text.truth),
                self.preset,
            )
            for text in texts
        ]
        notes = self._notes(records, texts, doubtful)
        return Contents(cases, unit_files(path), [], notes, text_only_baselines(cases))

    def _read_case_file(self, path: Path) -> Contents:
        """Returns the cases of a case file.

        Raises:
            ZooError: The file is invalid, or was built with other settings than the chosen ones.
        """
        header, cases = read_cases(path)
        settings = {
            "preset": (self.preset, CHECKED, header.preset),
            "max_images": (self.max_images, MAX_IMAGES, header.max_images),
            "seed": (self.seed, 0, header.seed),
            "captions": (self.captions, None, None),
        }
        for name, (value, default, file_value) in settings.items():
            if value not in (default, file_value):
                raise ZooError(
                    f"half_truth({name}={value!r}) contradicts the case file {path}"
                    f"{f', which has {name}={file_value!r}' if file_value is not None else ''}: "
                    f"remove {name}, or use the units file instead"
                )
        selected_cases = [case for case in cases if case.subset in self.wanted]
        notes = {"cases": f"{header.cases:,}, SHA-256 {header.sha256}", **header.notes}
        selected_baselines = {
            name: {
                condition: subsets[condition] for condition in self.wanted if condition in subsets
            }
            for name, subsets in header.baselines.items()
        }
        return Contents(selected_cases, [path], [], notes, selected_baselines)

    def _images(self, path: Path, texts: Iterable[HalfTruthTexts]) -> dict[str, ImageRef]:
        """Returns the image of every record that has a case, by caption id."""
        records = {text.record.caption_id: text.record for text in texts}
        if self.captions is not None:
            images_by_caption = {sample.caption_id: sample.image for sample in self.captions.read()}
            unknown = next(
                (caption_id for caption_id in records if caption_id not in images_by_caption), None
            )
            if unknown is not None:
                raise ZooError(
                    f"{path}: {type(self.captions).__name__} has no caption {unknown}: "
                    "use the captions that the units were extracted from"
                )
            return {caption_id: images_by_caption[caption_id] for caption_id in records}
        images = OwnImages(path if path.is_dir() else path.parent)
        return {caption_id: images.ref(record.image_id) for caption_id, record in records.items()}

    def _captions(self, records: list[UnitRecord]) -> dict[str, list[str]]:
        """Returns the reader's captions of each image, by the image id in the units."""
        if self.captions is None:
            return {}
        captions_by_image: dict[str, list[str]] = {}
        samples = {sample.caption_id: sample for sample in self.captions.read()}
        for sample in samples.values():
            captions_by_image.setdefault(sample.image_id, []).append(sample.caption)
        sample_by_image = {r.image_id: samples.get(r.caption_id) for r in records}
        return {
            image_id: captions_by_image[sample.image_id]
            for image_id, sample in sample_by_image.items()
            if sample is not None
        }

    def _notes(
        self,
        records: list[UnitRecord],
        texts: list[HalfTruthTexts],
        doubtful: dict[str, DoubtfulCounts],
    ) -> dict[str, str]:
        n_images = len({record.image_id for record in records})
        n_used = len({text.record.image_id for text in texts})
        conditions = {text.condition for text in texts}
        sources = Counter(
            ", ".join(f"{k} {v}" for k, v in record.source.items()) for record in records
        )
        return {
            "preset": self.preset,
            "seed": str(self.seed),
            "images": f"{n_used:,} of {n_images:,} in the units file",
            "units": "; ".join(
                f"{source_text or 'unknown source'} ({n:,} captions)"
                for source_text, n in sources.most_common(3)
            ),
            **_omission_note(doubtful),
            **{
                condition: "no cases: "
                + ("every such foil was left out" if condition in doubtful else NO_FOILS)
                for condition in self.wanted
                if condition not in conditions
            },
        }


def _omission_note(doubtful: dict[str, DoubtfulCounts]) -> dict[str, str]:
    """Returns a note on the number of foils that were left out, by condition."""
    omitted = {name: n for name, n in doubtful.items() if n.n_omitted}
    if not omitted:
        return {}
    summary = "; ".join(f"{name} {n.n_omitted:,} of {n.n_foils:,}" for name, n in omitted.items())
    return {"foils left out because another caption of the image has their words": summary}
