"""The best stack known in free order replays by the rules, and the verifier notices what does not."""

import json

import pytest

from research.nmbr9_records.verify import read_stack, replay
from tests.scripts import ROOT, run_study

BEST = ROOT / "research" / "nmbr9_records" / "best.json"


@pytest.mark.slow
def test_the_best_stack_replays():
    best = json.loads(BEST.read_text())
    done = run_study("nmbr9_records.verify")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{best['score']} points with 20 tiles")
    assert best["score"] >= 262
    assert sum(tile["digit"] * tile["level"] for tile in best["tiles"]) == best["score"]
    assert sorted(tile["digit"] for tile in best["tiles"]) == sorted([*range(10)] * 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda best: best.update(score=best["score"] + 1), "the score is"),
        (lambda best: best["tiles"].append(best["tiles"][0]), "placement 21"),
        (lambda best: best["tiles"][-1].update(row=40), "placement 20"),
        (lambda best: best["tiles"][-1].update(level=9), "it lies on level"),
        (lambda best: best["tiles"][0].update(digit=10), "there is no tile 10"),
        (lambda best: best.pop("tiles"), "holds no stack"),
    ],
)
def test_a_stack_that_breaks_a_rule_is_refused(tmp_path, change, message):
    best = json.loads(BEST.read_text())
    change(best)
    path = tmp_path / "stack.json"
    path.write_text(json.dumps(best))
    with pytest.raises(ValueError, match=message):
        replay(read_stack(path))


@pytest.mark.slow
def test_the_search_goes_on_from_the_best(tmp_path):
    path = tmp_path / "best.json"
    path.write_text(BEST.read_text())
    done = run_study("nmbr9_records.free_order", "--minutes", "0.05", "--file", str(path))
    assert done.returncode == 0, done.stderr
    assert json.loads(path.read_text())["score"] >= json.loads(BEST.read_text())["score"]
