"""The engine's pool of tasks: what it does with one of them costs the same however many wait."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from patchwork_env.protocol.tasks import Pool, Task


def steps_of(call: Callable[[], object]) -> int:
    """How many instructions of the interpreter a call takes."""
    count, before = 0, sys.gettrace()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += 1
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def pool_of(size: int) -> tuple[Pool, list[Task]]:
    """A pool without threads in which so many queries of one position wait."""
    pool = Pool(threads=0)
    tasks = [Task(f"{k}", 0, lambda task: {}, lambda answer: None) for k in range(size)]
    pool.add(tasks)
    return pool, tasks


@pytest.mark.parametrize(
    "end",
    [
        lambda pool, task: task.run(),
        lambda pool, task: pool.terminate(task.id),
        lambda pool, task: "7" in pool,
    ],
    ids=["finish", "terminate", "contains"],
)
def test_a_task_takes_the_same_steps_however_many_wait(end: Callable[[Pool, Task], object]) -> None:
    def steps(size: int) -> int:
        pool, tasks = pool_of(size)
        return steps_of(lambda: end(pool, tasks[-1]))

    assert steps(10) == steps(1000)


def test_an_id_is_free_once_all_its_tasks_are_done() -> None:
    pool = Pool(threads=0)
    first, second = (Task("a", ply, lambda task: {}, lambda answer: None) for ply in range(2))
    pool.add([first, second])
    assert pool.terminate("b") == 0
    assert pool.terminate("a", plies=[1]) == 1
    assert (len(pool), "a" in pool) == (1, True)
    first.run()
    assert (len(pool), "a" in pool) == (0, False)
