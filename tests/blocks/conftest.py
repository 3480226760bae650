import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture
def problem():
    """A sparse classification problem with weights: A (400 x 60), y in {-1, 1}, w."""
    rng = np.random.default_rng(0)
    A = sp.random(400, 60, density=0.15, random_state=1, format="csr")
    y = np.where(A @ rng.standard_normal(60) + 0.2 * rng.standard_normal(400) > 0, 1.0, -1.0)
    return A, y, rng.uniform(0.1, 2.0, 400)
