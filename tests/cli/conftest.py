import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _plain_surroundings(tmp_path, monkeypatch):
    """An empty folder to write in, 80 columns, and neither data folder nor cache of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("BSFW_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BSFW_DATA", raising=False)


@pytest.fixture(scope="session")
def samples():
    """A (40 x 6) with four decimals, so that text holds it exactly, and real scores."""
    rng = np.random.default_rng(5)
    A = np.round(rng.standard_normal((40, 6)), 4)
    scores = np.round(A @ np.array([2.0, -1.0, 0.0, 0.0, 1.0, 0.0]) + 0.3 * rng.standard_normal(40), 4)
    return A, scores


@pytest.fixture
def write_svm(samples):
    """write_svm(name, y) writes the samples with these labels as LIBSVM text into the current folder."""
    A, _ = samples

    def write(name, y):
        with open(name, "w") as file:
            for row, label in zip(A.tolist(), np.asarray(y).tolist(), strict=True):
                file.write(f"{label!r} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1)) + "\n")
        return name

    return write


@pytest.fixture
def train(samples, write_svm):
    """A file with labels -1 and +1."""
    return write_svm("train.svm", np.where(samples[1] > 0, 1, -1))
