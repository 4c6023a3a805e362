"""Half-truths (CS-CLIP, Section 3.2 and Appendix C).

Is a true description preferred to the same one with a wrong detail added?
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from zoo.benchmarks.annotations import check_subsets, given_path
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.half_truth.baselines import baselines
from zoo.benchmarks.half_truth.case_file import case, is_case_file, read_cases
from zoo.benchmarks.half_truth.rules import (
    CHECKED,
    CONDITIONS,
    RULES,
    Doubtful,
    HalfTruthTexts,
    without_doubtful_foils,
)
from zoo.errors import ZooError, suggest_names
from zoo.sources.own_images import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef
from zoo.support.ranges import PositiveInt
from zoo.units.reader import read_units, unit_files
from zoo.units.record import UnitRecord

HOW = (
    "`zoo units extract CAPTIONS --out {units}` makes the units of captions, "
    "`zoo scenes render` those of scenes"
)
MAX_IMAGES = 5_000
NO_FOILS = "the units have no such foils"


class HalfTruth(Benchmark):
    """Half-truths, read from a case file or made from a units file, with one subset a condition.

    The conditions are +Obj, +Attr, +Rand, Rel:Attr, Rel:Obj, Ant, Swap and Subj. A case's texts are
    the anchor, the half-truth and the true completion.

    Args:
        units: A case file of `zoo halftruth build`, a units file or a folder of these: absolute,
            from the working directory or under the data root. A case file has its own preset, seed
            and number of images, and takes no others.
        preset: The rule by which texts are made: 'paper' (CS-CLIP, Appendix C), 'checked' (the same
            without foils that another caption of the image bears out) or 'public_code' (what the
            paper's code does). See `zoo.benchmarks.half_truth.rules`.
        max_images: How many images are drawn at most, 5,000 in the paper. 'public_code' takes the
            first ones, of entities and of relations apart.
        seed: Settles all draws.
        captions: A reader of the captions, for units whose image ids do not say which image they
            mean, such as CS-CLIP's published ones. Captions are looked up by caption id. All
            captions that the reader has of an image are known to be true of it.
        subsets: The conditions wanted, None for all. Their cases are the same as among all.
    """

    name = "half_truth"
    behind_colon = "units"
    offers = CONDITIONS
    version = 3

    def __init__(
        self,
        units: str,
        preset: str = CHECKED,
        max_images: PositiveInt = MAX_IMAGES,
        seed: int = 0,
        captions: Reader | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        self.wanted = check_subsets(self.name, subsets, self.offers)
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
        """The conditions asked for; all are made from the same units."""
        chance = {"half_truth": 50.0, "completion": 50.0}
        return tuple(
            Subset(c, (self.units,), None, HOW.format(units=self.units), chance, named=True)
            for c in self.wanted
        )

    def read(self, root: Path) -> Contents:
        """Returns the cases of the conditions asked for.

        Args:
            root: A data root.

        Raises:
            ZooError: The file is wrong, or its captions are none of the reader's.
        """
        path = given_path(root, self.units)
        if path is None:
            return Contents([], [], list(self.subsets))
        if is_case_file(path):
            return self._read_case_file(path)
        return self.build_cases(path, list(read_units(path).values()))

    def build_cases(self, path: Path, records: list[UnitRecord]) -> Contents:
        """Returns the cases that are made from units.

        Args:
            path: The units file, or the folder of them.
            records: What it holds.

        Raises:
            ZooError: The captions are none of the reader's.
        """
        captions = self._captions(records)
        doubtful: dict[str, Doubtful] = {}
        asked = records
        if self.preset == CHECKED:
            asked, doubtful = without_doubtful_foils(records, captions)
        drawn = RULES[self.preset](asked, self.max_images, self.seed, captions)
        texts = [made for made in drawn if made.condition in self.wanted]
        images = self._images(path, texts)
        cases = [
            case(
                made.condition,
                made.record.caption_id,
                images[made.record.caption_id],
                (made.anchor, made.half_truth, made.truth),
                self.preset,
            )
            for made in texts
        ]
        notes = self._notes(records, texts, doubtful)
        return Contents(cases, unit_files(path), [], notes, baselines(cases))

    def _read_case_file(self, path: Path) -> Contents:
        """Returns the cases of a case file.

        Raises:
            ZooError: The file is wrong, or was made otherwise than is asked for.
        """
        header, cases = read_cases(path)
        asked = {
            "preset": (self.preset, CHECKED, header.preset),
            "max_images": (self.max_images, MAX_IMAGES, header.max_images),
            "seed": (self.seed, 0, header.seed),
            "captions": (self.captions, None, None),
        }
        for name, (value, default, own) in asked.items():
            if value not in (default, own):
                raise ZooError(
                    f"half_truth({name}={value!r}) does not go with the case file {path}, "
                    f"whose cases are settled{f' with {name}={own!r}' if own is not None else ''}: "
                    f"leave {name} out, or name the units file"
                )
        wanted = [case for case in cases if case.subset in self.wanted]
        notes = {"cases": f"{header.cases:,}, SHA-256 {header.sha256}", **header.notes}
        guessed = {
            name: {
                condition: subsets[condition] for condition in self.wanted if condition in subsets
            }
            for name, subsets in header.baselines.items()
        }
        return Contents(wanted, [path], [], notes, guessed)

    def _images(self, path: Path, texts: Iterable[HalfTruthTexts]) -> dict[str, ImageRef]:
        """Returns the image of every record that is asked about, by caption id."""
        records = {made.record.caption_id: made.record for made in texts}
        if self.captions is not None:
            known = {sample.caption_id: sample.image for sample in self.captions.read()}
            unknown = next((caption_id for caption_id in records if caption_id not in known), None)
            if unknown is not None:
                raise ZooError(
                    f"{path}: caption {unknown} is none of {type(self.captions).__name__}'s: "
                    "give the captions that the units are of"
                )
            return {caption_id: known[caption_id] for caption_id in records}
        images = OwnImages(path if path.is_dir() else path.parent)
        return {caption_id: images.ref(record.image_id) for caption_id, record in records.items()}

    def _captions(self, records: list[UnitRecord]) -> dict[str, list[str]]:
        """Returns the reader's captions of each image, by the image id of the units."""
        if self.captions is None:
            return {}
        of_image: dict[str, list[str]] = {}
        samples = {sample.caption_id: sample for sample in self.captions.read()}
        for sample in samples.values():
            of_image.setdefault(sample.image_id, []).append(sample.caption)
        asked = {r.image_id: samples.get(r.caption_id) for r in records}
        return {
            image_id: of_image[sample.image_id]
            for image_id, sample in asked.items()
            if sample is not None
        }

    def _notes(
        self,
        records: list[UnitRecord],
        texts: list[HalfTruthTexts],
        doubtful: dict[str, Doubtful],
    ) -> dict[str, str]:
        images = len({record.image_id for record in records})
        asked = len({made.record.image_id for made in texts})
        found = {made.condition for made in texts}
        makers = Counter(
            ", ".join(f"{k} {v}" for k, v in record.source.items()) for record in records
        )
        return {
            "preset": self.preset,
            "seed": str(self.seed),
            "images": f"{asked:,} of {images:,} in the units file",
            "units": "; ".join(
                f"{maker or 'source not said'} ({n:,} captions)"
                for maker, n in makers.most_common(3)
            ),
            **_left_out(doubtful),
            **{
                condition: "no case: "
                + ("every such foil was left out" if condition in doubtful else NO_FOILS)
                for condition in self.wanted
                if condition not in found
            },
        }


def _left_out(doubtful: dict[str, Doubtful]) -> dict[str, str]:
    """Returns a note on the foils that were left out, by condition."""
    found = {name: n for name, n in doubtful.items() if n.left_out}
    if not found:
        return {}
    said = "; ".join(f"{name} {n.left_out:,} of {n.foils:,}" for name, n in found.items())
    return {"foils left out, as another caption of the image has their words": said}
