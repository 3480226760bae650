import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

# The same examples in every run: whether a change lands is no matter of luck.
# HYPOTHESIS_PROFILE=random looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items):
    """Let one process run a file, or all tests that are marked with the kernels they compile; and these first.

    ``pytest.mark.xdist_group("k-sparse")``: two processes that need the same kernels at the same time would both
    compile them, for half a minute, and whoever begins with them last is left alone with them at the end.
    """
    marked = {id(item) for item in items if item.get_closest_marker("xdist_group")}
    for item in items:
        if id(item) not in marked:
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
    items.sort(key=lambda item: id(item) not in marked)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def classification(rng):
    """A small sparse classification problem: A (60 x 12, CSR), y in {-1, +1}."""
    A = sp.random(60, 12, density=0.4, random_state=1, format="csr")
    y = np.where(A @ rng.standard_normal(12) + 0.1 * rng.standard_normal(60) > 0, 1.0, -1.0)
    return A, y
