"""Ray: distributes work over processes, on this machine or a cluster."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

from zoo.errors import ZooError, import_optional
from zoo.support.configurable import Configurable
from zoo.support.ranges import NonNegativeInt, NonNegativeNumber, PositiveInt

_OBJECTS = 200_000_000  # bytes; Ray only transfers captions and their results


class Ray(Configurable):
    """Distributes work over Ray workers, on this machine or a cluster.

    The captions are split into parts, which Ray Data assigns to workers. Parts of failed workers
    are assigned again.

    Args:
        workers: Number of Ray's worker processes, on one or several machines. 0 runs everything in
            this process, without Ray.
        cpus: Number of CPUs per worker.
        gpus: Number of GPUs per worker. Language models in vLLM need one or more.
        captions: Number of captions that a worker gets at once. In `zoo units extract`,
            a worker can get a few more, so that it has all captions of an image.
        address: Address of the Ray cluster. By default, $RAY_ADDRESS. If this variable is not set,
            Ray starts on this machine.
        init: Further arguments of `ray.init`.
    """

    def __init__(
        self,
        workers: NonNegativeInt = 0,
        cpus: NonNegativeNumber = 1.0,
        gpus: NonNegativeNumber = 0.0,
        captions: PositiveInt = 5000,
        address: str | None = None,
        init: dict[str, Any] | None = None,
    ) -> None:
        self.workers, self.cpus, self.gpus = workers, cpus, gpus
        self.captions, self.address, self.init = captions, address, init or {}

    def run_parts(
        self, worker: type, worker_arguments: tuple[Any, ...], parts: Sequence[dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """Yields the results of all parts, in order.

        Args:
            worker: The class of a worker. It is built once per process, and called with each part.
                Its result is a dict with the entry `fault`: an error message, or empty on success.
            worker_arguments: Arguments of the worker class.
            parts: The parts, each a dict of plain data.

        Raises:
            ZooError: A worker reported a fault, or Ray is missing.
        """
        if not parts:
            return
        with self._session() as data:
            results = data.from_items(parts, override_num_blocks=len(parts)).map(
                worker,
                fn_constructor_args=worker_arguments,
                compute=data.ActorPoolStrategy(size=min(self.workers, len(parts))),
                num_cpus=self.cpus,
                num_gpus=self.gpus,
            )
            for result in results.iter_rows():
                if result["fault"]:
                    raise ZooError(result["fault"])
                yield result

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """Yields `ray.data`, with Ray initialized. Shuts Ray down at the end if it was started."""
        ray: Any = import_optional("ray", "ray")
        data: Any = import_optional("ray.data", "ray")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        if ray.is_initialized():
            yield data
            return
        options = {"logging_level": "error", "log_to_driver": False}
        address = self.address or os.environ.get("RAY_ADDRESS")
        if not address:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            options |= {
                "num_cpus": max(1, ceil(self.workers * self.cpus)),
                "include_dashboard": False,
                "object_store_memory": _OBJECTS,
            }
        try:
            ray.init(address=address, **{**options, **self.init})
        except (ConnectionError, OSError, RuntimeError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())[:300]
            raise ZooError(
                f"Ray cannot be reached at {address} ({reason}): start it there, or set another "
                "address"
                if address
                else f"Ray cannot be started ({reason}): correct the arguments under --ray.init"
            ) from error
        try:
            self._check_resources(ray, address)
            yield data
        finally:
            ray.shutdown()

    def _check_resources(self, ray: Any, address: str | None) -> None:
        """Raises ZooError if this machine has too few resources; a cluster may grow."""
        resources = ray.cluster_resources()
        for name, required in (("CPU", self.cpus), ("GPU", self.workers * self.gpus)):
            if not address and resources.get(name, 0) < required:
                raise ZooError(
                    f"the Ray workers need {required:g} {name}s, but this machine has "
                    f"{resources.get(name, 0):g}: use fewer, or a cluster with --ray.address"
                )


def check_same_component(actual: object, requested: object) -> None:
    """Checks that a worker has the same component as the main process.

    Args:
        actual: The description of the worker's component.
        requested: The description of the requested component.

    Raises:
        ZooError: They differ.
    """
    if actual != requested:
        raise ZooError(
            f"a Ray worker has {actual}, but {requested} was requested: install the same packages "
            "on all machines"
        )
