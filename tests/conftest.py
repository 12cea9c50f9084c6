"""Settings of the test run: the same examples every time, and a time limit for each test."""

import os

import pytest
from hypothesis import HealthCheck, settings
from numba.core import event

from patchwork_env.core.progress import QUIET

os.environ["OMP_NUM_THREADS"] = (
    "1"  # what PyTorch computes depends on its threads, and tests share processors
)
os.environ[QUIET] = "1"  # tests that compile, some of them in other processes, read what is printed
settings.register_profile(
    "reproducible",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("reproducible")


def pytest_addoption(parser):
    parser.addoption(
        "--limit",
        type=float,
        help="fail tests that take more seconds, compiling apart, and are not marked slow",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    compiling = event.TimingListener()
    before = os.times()
    with event.install_listener("numba:compile", compiling):
        yield
    after = os.times()
    seconds = sum(after[:4]) - sum(before[:4]) - (compiling.duration if compiling.done else 0)
    limit = item.config.getoption("limit")
    if limit is not None and seconds > limit and not item.get_closest_marker("slow"):
        pytest.fail(f"took {seconds:.1f} s of the processor, more than {limit:g}: mark it slow")


@pytest.fixture
def other_defaults(request):
    """Other defaults of PyTorch than float32 on the CPU, as the parameter names them."""
    import torch  # not every environment has it

    if request.param == "meta":
        torch.set_default_device("meta")
    else:
        torch.set_default_dtype(request.param)
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
