"""The published files of a checkpoint, as --dry-run writes them without the library and a network."""

import io
import json
from dataclasses import replace
from shutil import copytree

import pytest
import yaml

from patchwork_env.agents import hub
from patchwork_env.agents.checkpoints import NETWORK, SHIPPED_FOLDER, copy_checkpoint
from patchwork_env.cli import main
from patchwork_env.learning.evaluation.matches import hash_of_weights, play_matches
from patchwork_env.learning.evaluation.records import EVALUATION_FORMAT, EVALUATION_VERSION
from patchwork_env.learning.reports.model_card import model_card, read_origin

WEIGHTS = hash_of_weights(SHIPPED_FOLDER / "champion")
STEPS = json.loads((SHIPPED_FOLDER / "champion" / "checkpoint.json").read_text())["info"]["steps"]


@pytest.fixture(scope="module")
def match():
    return play_matches("greedy", "random", 4)


@pytest.fixture
def run(tmp_path, match):
    """The folder of a run whose policy, the champion's value, was measured against an odd opponent."""
    folder = tmp_path / "run"
    for name in ("final", "best"):
        (folder / name).mkdir(parents=True)
        copy_checkpoint(SHIPPED_FOLDER / "champion", folder / name)
    (folder / "config.yaml").write_text("game: patchwork\nalgorithm: td\ndescription: '```'\n")
    versions = {"steps": 0, "commit": "c0ffee", "patchwork_env": "0.1.0", "machine": "2 cœurs"}
    starts = *2 * [versions | {"commit": "0ddba11"}], versions  # the last one made the final policy
    (folder / "versions.jsonl").write_text("".join(f"{json.dumps(start)}\n" for start in starts))
    (folder / "evaluations").mkdir()
    evaluation = {"format": EVALUATION_FORMAT, "version": EVALUATION_VERSION, "machine": "a slide rule"}
    evaluation |= {"steps": STEPS, "minutes": 3.0, "weights": WEIGHTS, "sample_games": []}
    evaluation["matches"] = [match.as_dict() | {"opponent": "a|b # c", "win_rate": 0.61237}]
    (folder / "evaluations" / f"step_{STEPS:010d}.json").write_text(json.dumps(evaluation))
    again = [one | {"win_rate": 0.5} for one in evaluation["matches"]]
    (folder / "evaluations" / "best.json").write_text(json.dumps(evaluation | {"matches": again}))
    return folder


def card(out):
    """The metadata and the text of a published folder."""
    _, metadata, text = (out / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(metadata), text


def publish(*words):
    return main(["publish", *map(str, words)])


@pytest.mark.parametrize("name", ["", "final", "best"])
def test_the_page_of_a_run_has_its_own_figures(run, tmp_path, name, monkeypatch, capsys):
    out = tmp_path / "out"
    monkeypatch.setattr(io, "text_encoding", lambda encoding, *_: encoding or "ascii")  # of another system
    assert publish(run / name, "ann/td", "--dry-run", out, "--license", "cc0-1.0") == 0
    said = f"{out} has what would be published; {out / 'README.md'} is the page\n"
    assert capsys.readouterr().out == said
    files = ["checkpoint.json", "weights.safetensors"]
    assert sorted(path.name for path in out.iterdir()) == ["README.md", *files]
    assert all((out / file).read_bytes() == (run / "final" / file).read_bytes() for file in files)
    metadata, text = card(out)
    assert (metadata["license"], metadata["library_name"]) == ("cc0-1.0", "patchwork-env")
    assert (metadata["tags"][-1], metadata["model-index"][0]["name"]) == ("patchwork", "td")
    (result,) = metadata["model-index"][0]["results"]
    rate = 0.5 if name == "best" else 0.6124
    assert result["metrics"] == [{"type": "win_rate", "value": rate, "name": "win rate"}]
    assert result["dataset"]["name"] == "4 games against a|b # c"
    assert rf"| a\|b # c | 4 | {rate:.1%} |" in text
    assert all(code in text for code in ('agents.load("hf:ann/td")', "pip install '.[hub]'"))
    assert all(words in text for words in (f"in {STEPS:,} steps", "from both seats, on a slide rule."))
    assert ("as the best of its run, so its results" in text) == (name == "best")
    for line in ("Commit: c0ffee", f"Weights: SHA-256 `{WEIGHTS}`", "Machine: 2 cœurs", "Algorithm: td"):
        assert f"- {line}\n" in text
    assert text.rstrip().endswith("description: '```'\n````"), "the fence is longer than those in the text"


def test_evaluations_of_other_weights_are_left_out(run, tmp_path, monkeypatch, capsys):
    def copy(folder, *given, **options):
        assert (given, options) == (("ann/td",), {"private": True, "message": "The policy of final"})
        return copytree(folder, tmp_path / "other")

    monkeypatch.setattr(hub, "publish", copy)
    (evaluation,) = (run / "evaluations").glob("step_*")
    evaluation.write_text(evaluation.read_text().replace(WEIGHTS, "0" * 64))
    assert publish(run, "ann/td", "--private") == 0
    assert capsys.readouterr().out == f"published as {tmp_path / 'other'}\n"
    metadata, text = card(tmp_path / "other")
    assert "model-index" not in metadata
    assert "These weights have not been evaluated" in text


def test_a_checkpoint_outside_of_a_run_has_its_own_record(run, tmp_path, monkeypatch):
    most = (run / "final" / "weights.safetensors").stat().st_size
    monkeypatch.setitem(hub.MOST_BYTES, "weights.safetensors", most)
    for place in (run / "kept" / "policy", tmp_path / "final"):
        copytree(run / "final", place)
        assert publish(place, "ann/td", "--dry-run", tmp_path / "out", "--overwrite") == 0
        assert "\nseed: 1\ntotal_steps: 135000000\n" in card(tmp_path / "out")[1]


def test_the_page_says_what_is_needed_and_how_long_it_learned(run):
    origin = replace(read_origin(run / "final"), kind=NETWORK)
    for seconds, time in ((59.4, "59 seconds"), (60, "1 minute"), (3629, "60 minutes")):
        page = model_card(replace(origin, info={"seconds": seconds, "options": ":a=2"}), "ann/ppo")
        assert "pip install '.[hub,train]'" in page
        assert 'agents.load("hf:ann/ppo:a=2")' in page
        assert f"- Time: {time} of playing and learning\n" in page


def test_what_cannot_be_published_is_an_error_of_one_line(run, tmp_path, capsys):
    (run / "final" / "weights.safetensors").write_bytes(b"torn")
    for words, message in (
        (("champion", "champion"), "the repository is 'champion'; write owner/name"),
        (("champion", "ann/champion@main"), "the repository is 'ann/champion@main'; write owner/name"),
        (("hf:ann/champion", "ann/champion"), "hf:ann/champion is on the Hub already"),
        (("greedy", "ann/greedy"), "there is no agent 'greedy'"),
        (("no/such/run", "ann/run"), "there is no checkpoint at 'no/such/run'"),
        ((run, "ann/td"), "does not hold the weights"),
    ):
        assert publish(*words, "--dry-run", tmp_path / "out") == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
    assert publish("champion", "ann/c", "--dry-run", tmp_path) == 2
    assert f"{tmp_path} exists already" in capsys.readouterr().err
