"""PublishedWeights: the format of a publication's files, and their conversion to a plain model."""

from pathlib import Path
from typing import ClassVar, get_args

from torch import Tensor

from zoo.backbones.factory import Activation
from zoo.backbones.published.loralib import is_adapter, merge_loralib_adapters
from zoo.backbones.weights import Weights, list_keys, read_weights
from zoo.errors import ZooError
from zoo.support.configurable import Configurable

State = dict[str, Tensor]


class PublishedWeights(Configurable):
    """The weights of a publication, in their published format.

    A subclass describes the format of its files. A file with another format is rejected with a list
    of the differences; nothing is loaded partially. A subclass with files of another kind
    implements `state`.

    Attributes:
        activation: The activation that they were trained with; None if it differs between files, so
            that the user must set it.
        context_length: The text positions; None for the architecture's own.
        prefixes: The prefixes that open_clip's names may have in a file.
        extra_names: Further names that are always in a file and are left out.
        lora: Whether a file holds adapters, which are merged.

    Args:
        path: The file, or the folder, that was published.
    """

    activation: ClassVar[Activation | None] = None
    context_length: ClassVar[int | None] = None
    prefixes: ClassVar[tuple[str, ...]] = ("", "module.")
    extra_names: ClassVar[tuple[str, ...]] = ()
    lora: ClassVar[bool] = False

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def state(self, architecture: str) -> State:
        """Returns the weights under open_clip's names.

        Args:
            architecture: The name that open_clip knows the model by.

        Raises:
            ZooError: A file does not have the publication's format.
        """
        weights = read_weights(self.path)
        state = dict(weights.state)
        faults = (
            []
            if weights.prefix in self.prefixes
            else [f"its names begin with {weights.prefix!r} and not {_any(self.prefixes)}"]
        )
        faults += [f"it has no {key}" for key in self.extra_names if state.pop(key, None) is None]
        faults += [
            f"it has {key} outside of the model"
            for key in weights.unprefixed_names
            if key not in self.extra_names
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
                f"{self.path} is not a file of {type(self).__name__}: {'; '.join(faults)}: set "
                "another publication (`zoo ls published_weights`), or set backbone.pretrained to "
                "the file for a plain model"
            )
        return merge_loralib_adapters(self.path, state) if self.lora else state

    def read(self, architecture: str) -> Weights:
        """Reads the weights, and checks what a subclass returns.

        Args:
            architecture: The name that open_clip knows the model by.

        Returns:
            Plain weights under open_clip's names.

        Raises:
            ZooError: The file does not exist or has another format, or the subclass returns
                something other than weights.
        """
        name, path = type(self).__name__, getattr(self, "path", None)
        if not isinstance(path, Path):
            raise ZooError(f"{name} has no path: let its __init__ call super().__init__(path)")
        if not path.exists():
            raise ZooError(
                f"backbone.pretrained.path of {name} is {path}, which does not exist: give the "
                "path of the published weights"
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
                f"{name}.state returned {_kind(state)}: let it return a dict of tensors under "
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
