"""Ray: its processes do work that one process could do, on this machine or on many."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

from zoo.errors import ZooError, import_optional
from zoo.support.ranges import NonNegativeInt, NonNegativeNumber, PositiveInt
from zoo.support.spec import Configurable

_OBJECTS = 200_000_000  # bytes; captions and what is said of them are all that Ray carries here


class Ray(Configurable):
    """Has processes of Ray do the work, on this machine or on a cluster's.

    The captions are dealt into parts, and Ray Data hands these to its workers, again where one has
    died.

    Args:
        workers: How many processes work; 0 works in this process, without Ray.
        cpus: How many CPUs Ray sets apart for each.
        gpus: How many GPUs Ray sets apart for each; `VLLM` wants one or more.
        captions: How many captions a part has. Of units it has some more where an image has them:
            captions of one image stay together.
        address: The cluster's address. By default that of RAY_ADDRESS, else Ray is started here.
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
        self, worker: type, given: tuple[Any, ...], parts: Sequence[dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """Yields what workers say of parts, in their order.

        Args:
            worker: The class of a worker, which is made once in each process, and called with each
                of its parts. What it says of one has the entry `fault`: a sentence where it cannot
                go on, else nothing.
            given: What a worker is made with.
            parts: The parts, each as plain data by name.

        Raises:
            ZooError: A worker cannot go on, or Ray is missing.
        """
        if not parts:
            return
        with self._session() as data:
            done = data.from_items(parts, override_num_blocks=len(parts)).map(
                worker,
                fn_constructor_args=given,
                compute=data.ActorPoolStrategy(size=min(self.workers, len(parts))),
                num_cpus=self.cpus,
                num_gpus=self.gpus,
            )
            for said in done.iter_rows():
                if said["fault"]:
                    raise ZooError(said["fault"])
                yield said

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """Yields `ray.data` for the length of a block, which ends a Ray that it has started."""
        ray: Any = import_optional("ray", "ray")
        data: Any = import_optional("ray.data", "ray")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        if ray.is_initialized():
            yield data
            return
        given = {"logging_level": "error", "log_to_driver": False}
        address = self.address or os.environ.get("RAY_ADDRESS")
        if not address:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            given |= {
                "num_cpus": max(1, ceil(self.workers * self.cpus)),
                "include_dashboard": False,
                "object_store_memory": _OBJECTS,
            }
        try:
            ray.init(address=address, **{**given, **self.init})
        except (ConnectionError, OSError, RuntimeError, TypeError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            raise ZooError(
                f"Ray cannot be reached at {address} ({said}): start it there, or name another "
                "address"
                if address
                else f"Ray cannot be started ({said}): mend the arguments under --ray.init"
            ) from error
        try:
            self._check_room(ray, address)
            yield data
        finally:
            ray.shutdown()

    def _check_room(self, ray: Any, address: str | None) -> None:
        """Refuses workers that a Ray started here has no room for; a cluster may grow."""
        there = ray.cluster_resources()
        for name, wanted in (("CPU", self.cpus), ("GPU", self.workers * self.gpus)):
            if not address and there.get(name, 0) < wanted:
                raise ZooError(
                    f"the workers of Ray want {wanted:g} {name}s and this machine has "
                    f"{there.get(name, 0):g}: ask for fewer, or name a cluster by --ray.address"
                )


def refuse_other(here: object, asked: object) -> None:
    """Makes sure that a worker has what it was asked for.

    Args:
        here: How what it has describes itself.
        asked: How what was asked for does.

    Raises:
        ZooError: They differ.
    """
    if here != asked:
        raise ZooError(
            f"a worker of Ray has {here} where {asked} was asked for: install the same packages on "
            "all machines"
        )
