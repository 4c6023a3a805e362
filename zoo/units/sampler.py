"""UnitSampler: draws units and their foils for a training step (CS-CLIP, Section 4.1)."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from zoo.errors import ZooError, suggest_names
from zoo.support.configurable import Configurable
from zoo.support.ranges import ClosedUnitInterval, PositiveInt
from zoo.support.text_files import open_bytes, sha256
from zoo.units.argument_swap import ARGUMENT_SWAP, swap_arguments
from zoo.units.reader import unit_files
from zoo.units.record import Entity, Relation, UnitRecord
from zoo.units.table import UnitTable, unit_table

UnitAndFoil = tuple[str, str | None]
Unit = Entity | Relation


class UnitSampler(Configurable):
    """Draws units of a caption, each with a foil, from a units file.

    Args:
        file: A units file, or a folder of units files.
        n_units: The number of units drawn per caption (N_u in CS-CLIP's paper).
        p_rel: The probability that a draw prefers a relation to an entity. With the default,
            entities are drawn only if no relation with a foil is available (CS-CLIP, Table 16).
        max_conjunction: The maximum number of entities joined by "and" into one unit (K in
            CS-CLIP's paper).
        with_replacement: Whether a unit can be drawn again for the same caption. CS-CLIP's public
            code does this; the paper does not specify it. If False, each unit is drawn at most once
            per caption. If a caption has only one relation, for example, the second draw then gives
            an entity. If no unit is left, a draw gives nothing.
        shuffle_conjunction_independently: Whether the order of joined entities is drawn
            independently for the unit and for its foil, as in CS-CLIP's public code. Half of these
            foils then also differ from the unit in order, and are no longer minimal edits.
        edits: The kinds of edits whose foils are used, such as `argument_swap` (exchanged subject
            and object). By default, all.
        conjunction_share: The probability that a drawn entity is joined with other entities of the
            caption, if there are any.
        swap_share: The probability that the foil of a relation exchanges subject and object (share
            of swaps in CS-CLIP, Table 16). If the units file has no such foil, zoo makes it, unless
            the predicate is symmetric ("next to"). By default, all kinds of edits are equally
            likely.
    """

    def __init__(
        self,
        file: str,
        n_units: PositiveInt = 2,
        p_rel: ClosedUnitInterval = 1.0,
        max_conjunction: PositiveInt = 2,
        with_replacement: bool = True,
        shuffle_conjunction_independently: bool = False,
        edits: list[str] | None = None,
        conjunction_share: ClosedUnitInterval = 0.5,
        swap_share: ClosedUnitInterval | None = None,
    ) -> None:
        if edits is not None and not edits:
            raise ZooError("UnitSampler(edits=[]) leaves no foils: omit the argument to use all")
        if edits is not None and swap_share is not None:
            raise ZooError(
                "UnitSampler: edits and swap_share both choose the foils of relations: give one"
            )
        self.file = file
        self.n_units = n_units
        self.p_rel = p_rel
        self.max_conjunction = max_conjunction
        self.with_replacement = with_replacement
        self.shuffle_conjunction_independently = shuffle_conjunction_independently
        self.edits = edits
        self.conjunction_share = conjunction_share
        self.swap_share = swap_share

    def records(self) -> UnitTable:
        """Returns the records of the units file by caption id; they are read once and cached.

        Raises:
            ZooError: The file is invalid, has no units, or has no foil of a kind in `edits`.
        """
        return self._records

    @cached_property
    def _records(self) -> UnitTable:
        records = unit_table(self.file)
        counts = records.sources_and_counts
        if not counts["entities"] + counts["relations"]:
            raise ZooError(
                f"{self.file} has no units: its captions have neither entities nor relations. "
                "Extract them by `zoo units extract CAPTIONS --out FILE`"
            )
        foil_counts = counts["foils"]
        for edit in self.edits or ():
            if edit not in foil_counts:
                raise ZooError(
                    f"UnitSampler(edits=[... '{edit}' ...]): "
                    f"no foil in {self.file} has this edit{suggest_names(edit, foil_counts)}: "
                    f"choose among {', '.join(sorted(foil_counts)) or 'none'}"
                )
        return records

    def draw_units(self, record: UnitRecord, rng: Random) -> list[UnitAndFoil | None]:
        """Draws `n_units` units of a caption. They depend only on the record and the random state.

        Args:
            record: The units of a caption.
            rng: The random state.

        Returns:
            The results of `n_units` draws, each (unit, foil). If no unit with a foil is left, a
            result is (unit, None). If no unit is left, it is None. In a foil, the relation or one
            of the joined entities is changed. No unit is drawn twice, unless `with_replacement` is
            set.
        """
        used: set[str] = set()
        pairs: list[UnitAndFoil | None] = []
        for _ in range(self.n_units):
            if self.with_replacement:
                used = set()
            pairs.append(self._draw_unit_and_foil(record, used, rng))
        return pairs

    def _draw_unit_and_foil(
        self, record: UnitRecord, used: set[str], rng: Random
    ) -> UnitAndFoil | None:
        """Draws a unit whose text is not in `used`, and adds the text to `used`."""
        kinds: list[Sequence[Unit]] = [record.relations, record.entities]
        if rng.random() >= self.p_rel:
            kinds.reverse()
        fresh = [[unit for unit in kind if unit.text not in used] for kind in kinds]
        with_foil = [[unit for unit in kind if self._has_foil(unit)] for kind in fresh]
        units = next((kind for kind in (*with_foil, *fresh) if kind), None)
        if units is None:
            return None
        unit = rng.choice(units)
        used.add(unit.text)
        foil = self._draw_foil(unit, rng)
        return (
            (unit.text, foil)
            if isinstance(unit, Relation)
            else self._join_with_entities(unit, foil, record, used, rng)
        )

    def _has_foil(self, unit: Unit) -> bool:
        if self.edits is None and self.swap_share is None:
            return bool(unit.foils)
        return bool(self._foil_texts_by_edit(unit))

    def _foil_texts_by_edit(self, unit: Unit) -> dict[str, list[str]]:
        """Returns the texts of the unit's foils by edit."""
        foils: dict[str, list[str]] = {}
        for foil in unit.foils:
            if self.edits is None or foil.edit in self.edits:
                foils.setdefault(foil.edit, []).append(foil.text)
        if self.swap_share == 0:
            foils.pop(ARGUMENT_SWAP, None)
        elif self.swap_share is not None and isinstance(unit, Relation):
            swapped = None if ARGUMENT_SWAP in foils else swap_arguments(unit)
            if swapped is not None:
                foils[ARGUMENT_SWAP] = [swapped.text]
        return foils

    def _draw_foil(self, unit: Unit, rng: Random) -> str | None:
        """Draws an edit first, then a foil of that edit.

        Edits are drawn uniformly, except for the share of swaps if it is set.
        """
        foils = self._foil_texts_by_edit(unit)
        if not foils:
            return None
        if self.swap_share is not None and ARGUMENT_SWAP in foils and len(foils) > 1:
            swaps = foils.pop(ARGUMENT_SWAP)
            if rng.random() < self.swap_share:
                return rng.choice(swaps)
        return rng.choice(foils[rng.choice(list(foils))])

    def _join_with_entities(
        self, entity: Entity, foil: str | None, record: UnitRecord, used: set[str], rng: Random
    ) -> UnitAndFoil:
        """Joins the entity with up to K - 1 others, or returns it alone.

        Unit and foil have the same order. Entities drawn before are not joined again, so that no
        conjunction is repeated in another order.
        """
        other_texts = list(
            dict.fromkeys(e.text for e in record.entities if e.text not in used and e.text != foil)
        )
        max_others = min(self.max_conjunction - 1, len(other_texts))
        if max_others == 0 or rng.random() >= self.conjunction_share:
            return entity.text, foil
        members = [entity.text, *rng.sample(other_texts, rng.randint(1, max_others))]
        order = rng.sample(range(len(members)), len(members))
        text = " and ".join(members[i] for i in order)
        if foil is None:
            return text, None
        if self.shuffle_conjunction_independently:
            order = rng.sample(range(len(members)), len(members))
        return text, " and ".join(foil if i == 0 else members[i] for i in order)

    def describe(self) -> dict[str, Any]:
        """Returns the description of the units for checkpoints and results.

        The description has the name and the SHA-256 hash of the file, how the units were made, and
        counts.
        """
        return self._description

    @cached_property
    def _description(self) -> dict[str, Any]:
        files = unit_files(self.file)
        if len(files) == 1:
            content = sha256(files[0])
        else:
            digest = hashlib.sha256()
            for file in files:
                with open_bytes(file) as data:
                    while block := data.read(1 << 20):
                        digest.update(block)
            content = digest.hexdigest()
        return {
            "file": Path(self.file).name,
            "sha256": content,
            **self.records().sources_and_counts,
        }
