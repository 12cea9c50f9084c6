"""Language models as players: prompts, answers, and the effects of bad answers."""

import copy
import pickle
import re
import threading
from dataclasses import replace

import numpy as np
import pytest

from patchwork_env import agents
from patchwork_env.errors import IllegalActionError
from patchwork_env.integrations import language_models
from patchwork_env.integrations.language_models import TextAgent, Usage
from patchwork_env.learning.evaluation import play_matches
from patchwork_env.nmbr9 import Game as Nmbr9
from patchwork_env.patchwork import Game

WORD = re.compile(r"\d+/\d@[-\w,]*\w|\*[a-i]\d|^=\d|^\+", re.MULTILINE)


def first_offer(prompt):
    """A model that plays the first move that the list of moves gives as an example."""
    listed = prompt.rpartition("legal moves:")[2].partition("Think first")[0]
    words = WORD.findall(listed)
    return f"I have looked at it.\n**answer:** `{words[-1]}`"


def scripted(*answers):
    """Return a model that gives these answers in turn, and the list of its prompts."""
    left, prompts = list(answers), []

    def model(prompt):
        prompts.append(prompt)
        return left.pop(0)

    return model, prompts


def asks_first(prompt):
    """A model that asks for placements, and plays the middle one of the reply."""
    before, asked, reply = prompt.rpartition("Your answer:")
    words = WORD.findall(reply.partition("Think first")[0] if asked else "")
    if not asked:
        return "answer: placements"
    return f"answer: {words[len(words) // 2]}" if words else first_offer(before)


@pytest.mark.parametrize("game", [Game(seed=7), Nmbr9(seed=7), Nmbr9(seed=7, order="free")])
def test_whole_games_are_played_from_the_prompts_alone(game):
    agent, total = TextAgent(asks_first, retries=0, fallback=None), Usage()
    while not game.is_over:
        (action,), usage = agent.act_and_count(game.state)
        game.play(action)
        total.add(usage)
    assert total.decisions == total.questions == game.num_moves
    assert total.illegal_answers == 0


def test_questions_are_answered_and_counted():
    last = "answer: 12/0@a1\nPlacements in a corner leave no gap."
    asked = "answer: placements of patch 25 row 9", "Let me see.\nanswer: placements of patch 12"
    model, prompts = scripted(*asked, last)
    game = Game(seed=7)
    (action,), usage = TextAgent(model).act_and_count(game.state)
    assert game.move_text(action) == "12/0@a1"
    for part in ("Patchwork, for two players", str(game).rstrip(), "641 legal moves:", "- placements: "):
        assert part in prompts[0]
    assert "0 placements of patch 25" in prompts[1]
    assert "448 placements of patch 12, page 1 of 8" in prompts[2]
    assert "0 placements of patch 25" in prompts[2]  # a prompt holds the whole exchange
    assert (usage.calls, usage.questions, usage.illegal_answers) == (3, 2, 0)


def test_bad_answers_are_told_why_and_tried_again():
    model, prompts = scripted("12/0@i9", "", "answer: 12/0@a1")
    game = Game(seed=7)
    (action,), usage = TextAgent(model, retries=2).act_and_count(game.state)
    assert game.move_text(action) == "12/0@a1"
    assert "No legal move: '12/0@i9' is not legal" in prompts[1]
    assert prompts[2].startswith(prompts[1])
    assert (usage.illegal_answers, usage.retries, usage.fallbacks) == (2, 2, 0)


def test_after_all_tries_the_fallback_moves():
    agent, game = TextAgent(lambda prompt: "pass", retries=1, fallback="greedy"), Game(seed=7)
    (action,), usage = agent.act_and_count(game.state)
    assert action == agents.load("greedy").act(game)
    assert (usage.decisions, usage.calls, usage.answer_characters) == (1, 2, 8)
    assert (usage.illegal_answers, usage.retries, usage.fallbacks) == (2, 1, 1)
    asking = TextAgent(lambda prompt: "answer: shapes of patch 12", questions=3, retries=1)
    _, usage = asking.act_and_count(game.state)
    assert (usage.questions, usage.illegal_answers, usage.fallbacks) == (3, 2, 1)
    strict = TextAgent(lambda prompt: "pass", "passer", retries=0, fallback=None)
    with pytest.raises(IllegalActionError, match="no legal move in 1 tries; its last answer: 'pass'"):
        strict.act(game)
    with pytest.raises(ValueError, match="the answer of the language model is None; it must be a str"):
        TextAgent(lambda prompt: None).act(game)
    assert TextAgent(lambda prompt: "\ud800 \x00 ż\nanswer: +").act(game) == 0


def test_copies_ask_the_same_model():
    agent = TextAgent(first_offer)
    for same in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert same.act(Game(seed=7)) == agent.act(Game(seed=7))


def test_paired_games_are_the_same_with_several_threads():
    names = set()

    def model(prompt):
        names.add(threading.current_thread().name)
        return first_offer(prompt)

    one, many = TextAgent(first_offer, "model"), TextAgent(model, "model", threads=4)
    results = [play_matches(agent, "greedy", games=2, keep=2) for agent in (one, many)]
    assert results[0].kept == results[1].kept
    assert len(names) > 1
    of_one, of_many = (replace(result.usage[0], seconds=0.0) for result in results)
    assert of_one == of_many


def test_seconds_are_those_of_all_calls(monkeypatch):
    now = 0.0

    def slow(prompt):
        nonlocal now
        now += 2.5
        return "pass"

    monkeypatch.setattr(language_models.time, "perf_counter", lambda: now)
    agent = TextAgent(slow, retries=2)
    _, usage = agent.act_and_count(np.concatenate([Game(seed=7).state, Game(seed=8).state]))
    assert (usage.calls, usage.seconds) == (6, 15.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"complete": "gpt"}, "complete is 'gpt'; it must be a function from a prompt to an answer"),
        ({"complete": str}, "complete is <class"),
        ({"name": 3}, "the name of an agent must be text, not 3"),
        ({"retries": -1}, "retries is -1; allowed are 0 to 100"),
        ({"questions": 101}, "questions is 101"),
        ({"threads": 0}, "threads is 0; allowed are 1 to 256"),
        ({"fallback": "gredy"}, "there is no agent 'gredy'"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TextAgent(**{"complete": first_offer, **options})
