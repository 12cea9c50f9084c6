"""Episodes in words: moves, requests, bad answers and rewards."""

import random

import pytest

from patchwork_env.core.batches import MARGIN_SCALE
from patchwork_env.errors import OpponentError
from patchwork_env.integrations.text.episode import Episode, EpisodeSettings
from patchwork_env.service.agents import AgentPool

PLAYERS = AgentPool(["tests.play.odd_agents:illegal"])


def begun(game="patchwork", seed=7, **given):
    return Episode(EpisodeSettings(game, opponent="random").changed(given), PLAYERS, seed)


def played(episode):
    """Play random moves to the end."""
    chance, replies = random.Random(episode.seed), []
    while not episode.has_ended:
        game = episode.game
        assert game.current_player == episode.seat
        word = game.move_text(chance.choice(game.legal_actions().tolist()))
        replies.append(episode.answer(f"Move: {word}"))
    return replies


def test_a_game_to_its_end():
    episode = begun()
    assert episode.seat == 7 % 2
    assert episode.first.others[0][0] == 0
    assert "Patchwork, for two players" in episode.first.text
    assert "You are player 1, against player 0. It is your move." in episode.first.text
    *before, last = played(episode)
    assert {reply.kind for reply in before} == {"position"}
    assert {reply.reward for reply in before} == {0.0}
    assert (last.kind, last.reward) == ("over", 1.0 if episode.game.winner() == 1 else -1.0)
    assert episode.winners() == episode.game.winners()
    replies = [episode.first, *before, last]
    moves = [word for reply in replies for word in ([reply.played] if reply.played else [])]
    answers = [word for reply in replies for _, word in reply.others]
    assert sorted(moves + answers) == sorted(episode.game.notation().split("\n")[1].split())
    with pytest.raises(ValueError, match="the episode has ended"):
        episode.answer("+")


def test_alone_each_point_is_a_reward():
    episode = begun("nmbr9", opponent="unknown")
    assert episode.first.others == ()
    assert sum(reply.reward for reply in played(episode)) == episode.game.scores()[0]


def test_four_players_of_nmbr9():
    episode = begun("nmbr9", players=4, seat=2, rewards="margin")
    assert episode.first.others == ()  # moves of others are shown after the round
    first, *_, last = played(episode)
    assert [player for player, _ in first.others] == [0, 1, 3]
    others = ", ".join(f"player {player} played {word}" for player, word in first.others)
    assert first.text.startswith(f"You played {first.played}. Then {others}.\n\nYou are player 2, against")
    scores = list(episode.game.scores())
    assert last.reward == pytest.approx((scores.pop(2) - max(scores)) / MARGIN_SCALE)


def test_requests_take_no_turn_and_are_counted_up_to_a_move():
    episode = begun(requests=2)
    before = episode.game
    assert "placements of patch" in episode.answer("placements of patch 12 row 1").text
    reply = episode.answer("placements of patch 3")
    assert (reply.kind, reply.reward) == ("answer", 0)
    assert "there is no 'patch 3' now" in reply.text
    assert "0 requests left" in reply.text
    refused = episode.answer("rules")
    assert (refused.kind, refused.reward, episode.mistakes_left) == ("refused", -0.1, 2)
    assert episode.game == before
    episode.answer("Move: +\nPosition and moves are clear.")
    assert (episode.requests_left, episode.mistakes_left) == (2, 3)
    assert begun(requests=0).answer("rules").kind == "refused"


def test_too_many_bad_answers_lose():
    episode = begun(mistakes=2, penalty=0.25)
    first, last = episode.answer("I resign?"), episode.answer("99/9@z9")
    assert (first.kind, first.reward, last.kind, last.reward) == ("refused", -0.25, "over", -1.25)
    assert "the game is lost after 1 more" in first.text
    assert episode.has_ended
    assert episode.winners() == (0,)
    assert not episode.game.is_over


@pytest.mark.parametrize(
    ("game", "given", "message"),
    [
        ("patchwork", {"opponent": "gredy"}, "opponent 'gredy' is not offered; did you mean 'greedy'?"),
        ("patchwork", {"opponent": "os:system"}, "'os:system' is not offered"),
        ("patchwork", {"seat": 2}, "seat is 2; allowed are 0 to 1"),
        ("patchwork", {"players": 2}, "there is no option 'players'"),
        ("patchwork", {"game": "nmbr9"}, "there is no option 'game'"),
        ("patchwork", {"penalti": 1}, "did you mean 'penalty'"),
        ("patchwork", {"penalty": -1}, "penalty is -1; it must be a finite number of at least 0"),
        ("patchwork", {"mistakes": 0}, "mistakes is 0; allowed are 1 to 1000"),
        ("patchwork", {"requests": -1}, "requests is -1; allowed are 0 to 1000"),
        ("patchwork", {"options": {"seed": 1}}, "there is no option 'seed'"),
        ("chess", {}, "there is no game 'chess'; allowed are 'patchwork', 'nmbr9'"),
        ("patchwork", {"rewards": "x"}, "rewards is 'x'"),
        ("nmbr9", {"rewards": "outcome"}, "needs 2 players"),
        ("nmbr9", {"deck": [10]}, "the deck holds"),
    ],
)
def test_settings_are_checked(game, given, message):
    options = given.get("options", {})
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):  # for opponents when a game begins
        begun(game, **given) if "opponent" in given else EpisodeSettings(game, options=options).changed(given)


def test_failing_opponents_change_nothing():
    episode = begun(opponent="tests.play.odd_agents:illegal", seat=0)
    before = episode.game
    for _ in range(2):
        with pytest.raises(OpponentError, match="odd_agents:illegal' failed: action 1945 is not legal"):
            episode.answer("12/0@a1")
    assert episode.game == before
    assert (episode.has_ended, episode.mistakes_left) == (False, 3)
