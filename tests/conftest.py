"""What holds for all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# The machine may be slow; that is no finding about the code.
settings.register_profile("andrea", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("andrea")


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: a test waits for screens and processes half of its time."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.fixture(autouse=True, scope="session")
def own_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What consoles remember of runs goes to no home of a person."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
