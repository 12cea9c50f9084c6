"""Pictures of all games: as text, as SVG, as pixels, in files and in windows."""

from __future__ import annotations

import os
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from patchwork_env import nmbr9, patchwork
from patchwork_env.drawing import Window, save_gif, save_png
from patchwork_env.errors import MissingExtraError, StorageError
from tests.attack.sound import require_message

BOTH = pytest.mark.parametrize("package", [patchwork, nmbr9], ids=lambda package: package.__name__)
TAGS = {"svg", "title", "g", "rect", "circle", "polygon", "path", "text"}


def positions(package):
    """Three positions from the beginning to the end of a random game."""
    rng, found = np.random.default_rng(5), [package.Game(seed=5)]
    while not found[-1].is_over:
        found.append(found[-1].clone())
        found[-1].play(rng.choice(found[-1].legal_actions()))
    return [found[0], found[len(found) // 2], found[-1]]


def refused(function, *arguments):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is looked at)
        function(*arguments)
    assert type(caught.value) is ValueError
    require_message(caught.value)


@BOTH
def test_svg_is_self_contained_and_escapes_names(package):
    game = package.Game(seed=1)
    assert game._repr_svg_() == package.render.svg(game)
    assert str(game) == package.render.text(game)
    for game in positions(package):
        root = ElementTree.fromstring(package.render.svg(game, ("<Ann & Bob>", 'say "hi"')))
        tags = [element.tag.rpartition("}")[2] for element in root.iter()]
        assert tags[0] == "svg"
        assert set(tags) <= TAGS
        assert not any("href" in name for element in root.iter() for name in element.attrib)
        assert "<Ann & Bob>" in [element.text for element in root.iter()]


@BOTH
def test_pixels_have_the_size_asked_for_and_leave_the_game_as_it_was(package):
    begun, _, over = positions(package)
    before = over.to_bytes()
    frame = package.render.rgb_array(over, 300)
    assert (frame.dtype, frame.shape[1:], frame.flags.writeable) == (np.uint8, (300, 3), True)
    assert (frame == package.render.rgb_array(over, 300)).all()
    assert (frame != package.render.rgb_array(begun, 300)).any()
    assert package.render.rgb_array(begun).shape[1] == 960
    assert over.to_bytes() == before
    for width in (0, 99, 8001, 960.0, "wide"):
        with pytest.raises(ValueError, match="width"):
            package.render.rgb_array(over, width)


@BOTH
def test_pictures_of_something_else_are_refused(package):
    render, game = package.render, package.Game(seed=1)
    for other in (None, 1, (nmbr9 if package is patchwork else patchwork).Game(seed=1)):
        for draw in (render.text, render.svg, render.rgb_array):
            refused(draw, other)
    for names in ("ab", 5, {0: "a", 1: "b"}, [], [1, 2, 3, 4]):
        refused(render.svg, game, names)


# --- files ------------------------------------------------------------------------------------------------


FRAME = np.random.default_rng(1).integers(0, 256, (40, 60, 3)).astype(np.uint8)


def test_files_hold_the_frames(tmp_path):
    image = pytest.importorskip("PIL.Image")
    save_png(FRAME, tmp_path / "table.png")
    with image.open(tmp_path / "table.png") as stored:
        assert np.array_equal(np.asarray(stored), FRAME)
    frames = [np.full((40, 60, 3), 40 * number, np.uint8) for number in range(6)]
    save_gif(frames, tmp_path / "game.gif", seconds=0.2)
    with image.open(tmp_path / "game.gif") as stored:
        assert (stored.n_frames, stored.size, stored.info["loop"]) == (6, (60, 40), 0)
        stored.seek(5)
        assert np.abs(np.asarray(stored.convert("RGB")).astype(int) - frames[5]).mean() < 4
    assert sorted(os.listdir(tmp_path)) == ["game.gif", "table.png"]


def test_wrong_frames_and_times_are_refused_and_nothing_is_written(tmp_path):
    png, gif = tmp_path / "game.png", tmp_path / "game.gif"
    for wrong in (None, FRAME[0], FRAME.astype(float), FRAME[:0], [FRAME], np.zeros((4, 4, 7), np.uint8)):
        refused(save_png, wrong, png)
    for frames in (5, [], [FRAME, FRAME[1:]]):
        refused(save_gif, frames, gif)
    for seconds in (0, -1, float("nan"), "1", True, 10**400):
        refused(save_gif, [FRAME], gif, seconds)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "table.png"
    path.write_bytes(b"old")
    with pytest.raises(StorageError, match=r"cannot write to .*missing"):
        save_png(FRAME, tmp_path / "missing" / "table.png")
    monkeypatch.setattr(os, "fsync", lambda _: os.stat(tmp_path / "no disk"))
    with pytest.raises(StorageError, match=r"table\.png: No such file"):
        save_png(FRAME, path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"table.png": b"old"}


# --- windows ----------------------------------------------------------------------------------------------


@pytest.fixture
def pygame(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    return pytest.importorskip("pygame")


def test_a_window_shows_frames(pygame):
    window = Window("A game")
    for frame in (FRAME, FRAME[1:, 1:]):
        window.show(frame)
        assert pygame.display.get_caption()[0] == "A game"
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        assert np.array_equal(shown, frame)
    window.close()


@pytest.mark.parametrize("by_user", [True, False])
def test_a_closed_window_stays_closed(pygame, by_user):
    window = Window("A game")
    window.show(FRAME)
    if by_user:
        pygame.event.post(pygame.event.Event(pygame.QUIT))
        window.show(FRAME)
    else:
        window.close()
        window.close()
    assert not pygame.display.get_init()
    window.show(FRAME)
    assert not pygame.display.get_init()


# --- the optional extra -----------------------------------------------------------------------------------


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match=r"^pictures of pixels need PIL: pip install pillow,"):
        patchwork.render.rgb_array(patchwork.Game(seed=1))
    with pytest.raises(MissingExtraError, match=r"^windows need pygame: pip install pygame-ce,"):
        Window("A game")
