"""Agents that choose from observations and masks, and opponents that follow a learner's weights."""

import gymnasium
import numpy as np
import pytest
import torch

from patchwork_env import nmbr9
from patchwork_env.agents import ObservingAgent
from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.agents.networks import PolicyAgent
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork
from patchwork_env.errors import IllegalActionError, OpponentError
from patchwork_env.patchwork import Game

NAME = "patchwork_env:Patchwork-v0"


@pytest.mark.parametrize(
    ("game", "name"), [(Game(seed=3), "patchwork"), (nmbr9.Game(seed=3, players=2), "nmbr9")]
)
def test_the_function_sees_what_environments_show(game, name):
    seen = []

    def last(observations, masks):
        seen.append((observations, masks))
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)

    agent = ObservingAgent(last, game=name)
    assert agent.name == "last"
    for _ in range(5):
        assert agent.act(game) == game.legal_actions()[-1]
        np.testing.assert_array_equal(seen[-1][0][0], game.observation())
        np.testing.assert_array_equal(seen[-1][1][0], game.action_mask())
        game.play(agent.act(game))


@pytest.mark.parametrize("answer", [None, [1.5], [0, 0], "advance"])
def test_answers_that_are_not_actions(answer):
    with pytest.raises(IllegalActionError):
        ObservingAgent(lambda observations, masks: answer).act(Game(seed=1))


def test_wrong_functions_names_and_games():
    for wrong in ("greedy", int, None):
        with pytest.raises(ValueError, match="not a function from observations and masks to actions"):
            ObservingAgent(wrong)
    with pytest.raises(ValueError, match="the name of an agent must be text, not 5"):
        ObservingAgent(max, 5)
    with pytest.raises(ValueError, match="there is no game 'chess'"):
        ObservingAgent(max, game="chess")
    with pytest.raises(ValueError, match="plays patchwork, not nmbr9"):
        gymnasium.make("patchwork_env:Nmbr9-v0", players=2, opponent=ObservingAgent(max))


def followers():
    """Return networks and the agents that play their current weights."""
    torch.manual_seed(0)
    network, own = PatchworkNetwork(NetworkConfig(width=16, depth=1, channels=0)), torch.nn.Linear(307, 2026)

    def likeliest(observations, masks):
        with torch.no_grad():
            scores = own(torch.from_numpy(observations))
            return scores.masked_fill(torch.from_numpy(masks) == 0, -1e8).argmax(1)

    return [(network, PolicyAgent(network)), (own, ObservingAgent(likeliest))]


@pytest.mark.parametrize(("which", "number"), [(0, None), (1, 3)])
def test_an_opponent_follows_the_weights(which, number):
    """A change of the weights changes the games; after it is undone, they are the same again."""
    network, agent = followers()[which]
    options = {"opponent": agent, "seat": 1, "first_player": 0}
    env = gymnasium.make(NAME, **options) if number is None else gymnasium.make_vec(NAME, number, **options)
    assert env.unwrapped.opponent is agent

    def replies():
        states = []
        _, info = env.reset(seed=5)
        for _ in range(6):
            _, _, _, _, info = env.step(info["action_mask"].argmax(-1))
            games = [env.unwrapped.game] if number is None else env.unwrapped.games()
            states.append(b"".join(game.to_bytes() for game in games))
        return states

    before = replies()
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter))
    assert replies() != before
    network.load_state_dict(weights)
    assert replies() == before


def test_an_illegal_choice_is_an_error_of_the_opponent():
    agent = ObservingAgent(lambda observations, masks: np.full(len(masks), 2025), "blind")
    env = gymnasium.make(NAME, opponent=agent, seat=1, first_player=0)
    with pytest.raises(OpponentError, match="opponent 'blind'"):
        env.reset(seed=1)
