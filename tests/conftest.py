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


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def classification(rng):
    """A small sparse classification problem: A (60 x 12, CSR), y in {-1, +1}."""
    A = sp.random(60, 12, density=0.4, random_state=1, format="csr")
    y = np.where(A @ rng.standard_normal(12) + 0.1 * rng.standard_normal(60) > 0, 1.0, -1.0)
    return A, y
