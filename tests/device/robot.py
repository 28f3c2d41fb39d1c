"""The test's side of robot_driver.py: orders to the window's robot, and what was told since, in the order it came."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

DRIVER: Final = Path(__file__).with_name("robot_driver.py")
_ANSWER_S: Final = 20.0
_LOOK_S: Final = 0.1
_SETTLED_S: Final = 0.25
"""Before a picture: drawers slide, texts find their lines."""


class Seen:
    """What a person sees of the window at one moment."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.state: str = told["state"]
        self.focus: str = told["focus"]
        self.messages: list[dict[str, Any]] = told["messages"]
        self.widgets: list[dict[str, Any]] = told["widgets"]
        self.menu: list[str] = told["menu"]
        self.levels: dict[str, float] = told["levels"]

    def says(self, text: str) -> bool:
        """Whether the text stands somewhere."""
        return any(text in widget["text"] or text in widget["name"] for widget in self.widgets)

    def widget(self, name: str) -> dict[str, Any] | None:
        """What is called so."""
        return next((widget for widget in self.widgets if name in (widget["name"], widget["text"])), None)

    def can(self, name: str) -> bool:
        """Whether something of that name can be used now."""
        return any(name in (w["name"], w["text"]) and w["on"] for w in self.widgets)

    def holds(self, name: str, value: str) -> bool:
        """Whether the field of that name has this in it."""
        return any((w["kind"], w["name"], w["text"]) == ("QLineEdit", name, value) for w in self.widgets)

    def texts(self) -> list[str]:
        return [widget["text"] for widget in self.widgets if widget["text"]]


class Robot:
    """A running window with a robot before it."""

    def __init__(self, environment: Mapping[str, str], pictures: Path) -> None:
        self.started_s = time.monotonic()
        self.longest_ms = 0
        self.events: list[dict[str, Any]] = []
        self._pictures = pictures
        self._n_pictures = 0
        self._n_orders = 0
        self._told: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER)], env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._reader = threading.Thread(target=self._read, name="robot-events")
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._told.put({"at": time.monotonic(), **json.loads(line)})
        self._told.put(None)

    # What was told

    def mark(self) -> int:
        """Here: what is told from now on."""
        while self._take(0.0):
            pass
        return len(self.events)

    def _take(self, timeout_s: float) -> bool:
        try:
            event = self._told.get(timeout=timeout_s) if timeout_s > 0 else self._told.get_nowait()
        except queue.Empty:
            return False
        if event is None:
            self._told.put(None)
            raise EOFError
        self.events.append(event)
        return True

    def wait(self, kind: str, since: int, timeout_s: float, **values: object) -> dict[str, Any]:
        """The first event of the kind after a mark. Fails the test when it does not come."""
        at, deadline = since, time.monotonic() + timeout_s
        while True:
            for event in self.events[at:]:
                at += 1
                if event["event"] == kind and all(event.get(name) == value for name, value in values.items()):
                    return event
            try:
                if not self._take(deadline - time.monotonic()):
                    pytest.fail(f"no {kind} {values} within {timeout_s} s; the last events: {self.events[-8:]}")
            except EOFError:
                pytest.fail(f"the window ended; the last events: {self.events[-8:]}")

    def all(self, kind: str, since: int = 0) -> list[dict[str, Any]]:
        """Every event of the kind so far."""
        self.mark()
        return [event for event in self.events[since:] if event["event"] == kind]

    # What the robot does

    def do(self, order: str, **words: object) -> Any:  # noqa: ANN401 - as JSON has it
        """Give an order. Fails the test when it cannot be carried out."""
        self._n_orders += 1
        since = self.mark()
        line = json.dumps({"order": self._n_orders, "do": order, **words}, ensure_ascii=False)
        assert self.process.stdin is not None
        os.write(self.process.stdin.fileno(), (line + "\n").encode())
        answer = self.wait("answer", since, _ANSWER_S, order=self._n_orders)
        assert "wrong" not in answer, f"{order} {words}: {answer['wrong']}"
        return answer["found"]

    def see(self) -> Seen:
        told = self.do("see")
        self.longest_ms = max(self.longest_ms, told["longest_ms"])
        return Seen(told)

    def until(self, what: str, check: Callable[[Seen], object], timeout_s: float = 20.0) -> Seen:
        """Look until something is so. Fails the test when it never is."""
        deadline = time.monotonic() + timeout_s
        while True:
            now = self.see()
            if check(now):
                return now
            if time.monotonic() > deadline:
                self.picture("failed")
                pytest.fail(f"{what}: not so after {timeout_s} s; focus {now.focus!r}, seen {now.texts()}")
            time.sleep(_LOOK_S)

    def click(self, name: str, timeout_s: float = 20.0, **words: object) -> None:
        """Click what is called so, as soon as it is there and can be used."""
        self.until(f"{name!r} can be clicked", lambda now: now.can(name), timeout_s)
        self.do("click", name=name, **words)

    def key(self, keys: str, times: int = 1) -> None:
        self.do("key", keys=keys, times=times)

    def type(self, text: str) -> None:
        self.do("type", text=text)

    def tab_to(self, name: str, most: int = 20) -> None:
        """With the Tab key alone."""
        for _ in range(most):
            if self.see().focus.startswith(name):
                return
            self.key("Tab")
        pytest.fail(f"Tab does not come to {name!r} in {most} steps, but to {self.see().focus!r}")

    def picture(self, name: str) -> Path:
        time.sleep(_SETTLED_S)
        self._n_pictures += 1
        path = self._pictures / f"{self._n_pictures:02d}-{name}.png"
        self.do("picture", path=str(path))
        return path

    def end(self) -> None:
        """Whatever happened, the program is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=15)
        self._reader.join(5)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def robot_at(environment: Mapping[str, str], pictures: Path) -> Iterator[Robot]:
    """A window with a robot, gone at the end of a `with` block."""
    pictures.mkdir(parents=True, exist_ok=True)
    robot = Robot(environment, pictures)
    try:
        yield robot
    finally:
        robot.end()
