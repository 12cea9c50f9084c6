"""Naive optimizer steps and returns, written from the papers, for comparison with the learners."""

import math

import pytest
import torch


class NaiveAdam:
    """Algorithm 1 of Kingma and Ba (2015), with the decoupled decay of Loshchilov and Hutter (2019)."""

    def __init__(self, parameters, epsilon=1e-8, weight_decay=0.0):
        self.parameters, self.epsilon, self.weight_decay, self.steps = parameters, epsilon, weight_decay, 0
        self.first = [torch.zeros_like(parameter) for parameter in parameters]
        self.second = [torch.zeros_like(parameter) for parameter in parameters]

    def step(self, gradients, rates):
        self.steps += 1
        for k, (parameter, gradient, rate) in enumerate(zip(self.parameters, gradients, rates, strict=True)):
            self.first[k] = 0.9 * self.first[k] + 0.1 * gradient
            self.second[k] = 0.999 * self.second[k] + 0.001 * gradient**2
            first, second = self.first[k] / (1 - 0.9**self.steps), self.second[k] / (1 - 0.999**self.steps)
            with torch.no_grad():
                parameter -= rate * self.weight_decay * parameter
                parameter -= rate * first / (second.sqrt() + self.epsilon)


def naive_gradients(loss, parameters, max_norm):
    """The gradients, clipped to a norm, and their norm before."""
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    gradients = [torch.zeros(()) if gradient is None else gradient for gradient in gradients]
    norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients))
    return [gradient * min(1, max_norm / norm) for gradient in gradients], norm


def naive_returns(promises, explored, result, trace):
    """The returns of Watkins's Q(lambda) by the forward view, all values seen by one player.

    ``promises`` are the values of the best actions. The return of a turn is a weighted sum of the values of
    this and later turns. The first turn that took another action, or the result of the game, has the rest of
    the weight.
    """
    returns = []
    for turn in range(len(promises)):
        total, left = 0.0, 1.0
        for promise, is_explored in zip(promises[turn:], explored[turn:], strict=True):
            share = left if is_explored else left * (1 - trace)
            total, left = total + share * promise, left - share
        returns.append(total + left * result)
    return returns


def naive_advantage(decisions, turn, game, discount, decay):
    """The recursion of generalized advantage estimation along the decisions of the player who moves."""
    player, got, following, more = decisions.players[turn, game], 0.0, 0.0, 0.0
    for later in range(turn, len(decisions.players)):
        if later > turn and decisions.learner_mask[later, game] and decisions.players[later, game] == player:
            following = float(decisions.values[later, game])
            more = naive_advantage(decisions, later, game, discount, decay)
            break
        got += float(decisions.rewards[later, game, player])
        if decisions.dones[later, game]:
            break
    else:
        others = decisions.rewards.shape[-1] - 1
        share = 1 if decisions.bootstrap_players[game] == player else -1 / others
        following = share * float(decisions.bootstrap_values[game])
    error = got + discount * following - float(decisions.values[turn, game])
    return error + discount * decay * more


def naive_rewards(game, reward):
    """The rewards of both players where a game of Patchwork is over, with margins cut at 1."""
    if not game.is_over:
        return [0, 0]
    margin = max(-1, min(1, (game.scores()[0] - game.scores()[1]) / reward.margin_scale))
    first = (reward.outcome if game.winner() == 0 else -reward.outcome) + reward.margin * margin
    return [first, -first]


def check_end_of_rollout(game, decisions, i, reward, network):
    """After forced turns, the value is that of a position with a choice, or the result is known."""
    was_over, forced = game.is_over, 0
    while not game.is_over and len(game.legal_actions()) == 1:
        game.play(game.legal_actions()[0])
        forced += 1
    assert decisions.rewards[-1, i].tolist() == pytest.approx(naive_rewards(game, reward))
    if was_over:
        return "over"
    expected = 0.0 if game.is_over else network(network.encode(game.state)[0]).values.item()
    assert decisions.bootstrap_values[i] == pytest.approx(expected, abs=1e-5)
    assert game.is_over or decisions.bootstrap_players[i] == game.current_player
    return ("decided" if game.is_over else "forced") if forced else "free"


def naive_schedule(schedule, progress):
    """The value of a schedule after a share of the run."""
    if schedule.curve == "geometric":
        return math.exp((1 - progress) * math.log(schedule.start) + progress * math.log(schedule.end))
    return (1 - progress) * schedule.start + progress * schedule.end


def means(measured):
    """The means over several steps, by name."""
    plain = [{name: float(torch.as_tensor(v).detach()) for name, v in each.items()} for each in measured]
    return {name: sum(each[name] for each in plain) / len(plain) for name in plain[0]}
