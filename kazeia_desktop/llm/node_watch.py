"""Where the work really ran: every node of llama.cpp's graphs, seen as it is computed.

A backend may leave any operation to the CPU without a word; the result's memory tells who computed it.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import llama_cpp

from kazeia_desktop.llm import ggml

_VIEWS: Final = frozenset({"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"})
"""Nothing is computed for these."""
_PRODUCTS: Final = frozenset({"MUL_MAT", "MUL_MAT_ID"})
_SHARE: Final = 0.5
"""A device that got less of the matrix products than this did not compute the model."""


@dataclass(slots=True)
class Work:
    """What one device did. ms: time of its nodes, each computed alone; 0 where it was not measured."""

    nodes: int = 0
    products: int = 0
    ms: float = 0.0


class NodeWatch:
    """Counts nodes by device; timed: also measures them, one by one, which makes everything much slower."""

    def __init__(self, timed: bool = False) -> None:
        self.timed = timed
        self.work: dict[str, Work] = {}
        self._started_s = 0.0
        self.readable = ggml.knows_tensors()
        self.callback = llama_cpp.ggml_backend_sched_eval_callback(self._see)

    def forget(self) -> None:
        """Begin to count anew."""
        self.work.clear()

    def _see(self, pointer: int, asks: bool, _data: int | None) -> bool:
        """Before a node (asks) and, where this returned true, after it."""
        if not self.readable:
            return not asks
        if asks:
            tensor = ggml.Tensor.from_address(pointer)
            op = ggml.op_name(tensor)
            if op in _VIEWS:
                return False
            if not self.timed:
                self._count(tensor, op)
                return False
            self._started_s = time.perf_counter()
            return True
        ms = (time.perf_counter() - self._started_s) * 1000
        tensor = ggml.Tensor.from_address(pointer)
        self._count(tensor, ggml.op_name(tensor)).ms += ms
        return True

    def _count(self, tensor: ggml.Tensor, op: str) -> Work:
        work = self.work.setdefault(ggml.device_of_node(tensor) or "CPU", Work())
        work.nodes += 1
        work.products += op in _PRODUCTS
        return work


def computed_on(work: Mapping[str, Work], device: str) -> str:
    """The device's name where it got at least half of the matrix products, else "CPU"."""
    products = sum(one.products for one in work.values())
    own = work[device].products if device in work else 0
    return device if products and own >= _SHARE * products else "CPU"


def as_record(work: Mapping[str, Work]) -> dict[str, dict[str, object]]:
    """For JSON: device -> nodes, matrix_products, ms."""
    return {
        name: {"nodes": one.nodes, "matrix_products": one.products, "ms": round(one.ms, 2)}
        for name, one in sorted(work.items())
    }
