"""PublishedWeights: what a publication's files are like, and how they become a plain model's."""

from pathlib import Path
from typing import ClassVar, get_args

from torch import Tensor

from zoo.backbones.factory import Activation
from zoo.backbones.published.loralib import is_adapter, merge_loralib_adapters
from zoo.backbones.weights import Weights, list_keys, read_weights
from zoo.errors import ZooError
from zoo.support.spec import Configurable

State = dict[str, Tensor]


class PublishedWeights(Configurable):
    """The weights of a publication, as it published them.

    A subclass says what its files are like. A file that is not like that is refused with a list of
    what does not fit. Nothing is loaded in part. A subclass whose files are of another kind writes
    `state`.

    Attributes:
        activation: The activation that they were trained with; None where it differs between files,
            so that the user must say it.
        context_length: The text positions; None for the architecture's own.
        prefixes: The prefixes that open_clip's names may have in a file.
        beside: Names that always lie beside the model's and are left out.
        lora: Whether a file holds adapters, which are merged.

    Args:
        path: The file, or the folder, that was published.
    """

    activation: ClassVar[Activation | None] = None
    context_length: ClassVar[int | None] = None
    prefixes: ClassVar[tuple[str, ...]] = ("", "module.")
    beside: ClassVar[tuple[str, ...]] = ()
    lora: ClassVar[bool] = False

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def state(self, architecture: str) -> State:
        """Returns the weights under open_clip's names.

        Args:
            architecture: The name that open_clip knows the model by.

        Raises:
            ZooError: A file is not like the publication's.
        """
        weights = read_weights(self.path)
        state = dict(weights.state)
        faults = (
            []
            if weights.prefix in self.prefixes
            else [f"its names begin with {weights.prefix!r} and not {_any(self.prefixes)}"]
        )
        faults += [f"it has no {key}" for key in self.beside if state.pop(key, None) is None]
        faults += [
            f"{key} lies beside the model" for key in weights.beside if key not in self.beside
        ]
        adapters = [key for key in state if is_adapter(key)]
        if self.lora != bool(adapters):
            faults.append(
                "it has no LoRA tensors"
                if self.lora
                else f"it has {len(adapters)} LoRA tensors ({list_keys(adapters)})"
            )
        positions = state.get("positional_embedding")
        n = None if positions is None else positions.shape[0]
        if self.context_length is not None and n != self.context_length:
            faults.append(f"it has {n} text positions and not {self.context_length}")
        if faults:
            raise ZooError(
                f"{self.path} is no file of {type(self).__name__}: {'; '.join(faults)}: name "
                "another publication (`zoo ls published_weights`), or give backbone.pretrained "
                "the file alone for a plain model"
            )
        return merge_loralib_adapters(self.path, state) if self.lora else state

    def read(self, architecture: str) -> Weights:
        """Reads the weights, and holds a subclass to what it has to give.

        Args:
            architecture: The name that open_clip knows the model by.

        Returns:
            Plain weights under open_clip's names.

        Raises:
            ZooError: There is no file, it is not like the publication's, or the subclass gives
                something else than weights.
        """
        name, path = type(self).__name__, getattr(self, "path", None)
        if not isinstance(path, Path):
            raise ZooError(f"{name} has no path: let its __init__ call super().__init__(path)")
        if not path.exists():
            raise ZooError(
                f"backbone.pretrained.path of {name} is {path}, which is not there: give the path "
                "of the published weights"
            )
        if self.activation not in (None, *get_args(Activation)):
            raise ZooError(
                f"{name}.activation is {self.activation!r}: give it "
                f"{', '.join(get_args(Activation))} or None"
            )
        state = self.state(architecture)
        if not isinstance(state, dict) or not all(
            isinstance(key, str) and isinstance(value, Tensor) for key, value in state.items()
        ):
            raise ZooError(
                f"{name}.state gave {_kind(state)}: let it return a dict of tensors under "
                "open_clip's names"
            )
        return Weights(path, state, self.activation, context_length=self.context_length)


def _any(prefixes: tuple[str, ...]) -> str:
    return " or ".join(map(repr, prefixes))


def _kind(state: object) -> str:
    """Returns what was given in place of a state."""
    if not isinstance(state, dict):
        return f"a {type(state).__name__}"
    wrong = next(
        (k, v) for k, v in state.items() if not (isinstance(k, str) and isinstance(v, Tensor))
    )
    return f"a dict with {wrong[0]!r}: {type(wrong[1]).__name__}"
