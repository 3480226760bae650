"""Pictures: that they show what they were given. What they look like was looked at."""

import io

import numpy as np
import pytest

from bsfw.quantum import pictures

MATRIX = np.array([[0.5, -0.5j], [0.5j, 0.5]])


def drawn(figure):
    figure.savefig(io.BytesIO(), format="png")
    return figure


@pytest.mark.parametrize("draw", [pictures.city, pictures.hinton])
def test_real_and_imaginary_parts_with_errors(draw):
    figure = drawn(draw(MATRIX, np.full((2, 2), 0.1 + 0.2j), title="a state"))
    assert [axes.get_title() for axes in figure.axes] == ["real part", "imaginary part"]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["0", "1"]
    bare = drawn(draw(MATRIX))
    count = lambda made: sum(len(axes.lines) + len(axes.patches) for axes in made.axes)  # noqa: E731
    assert count(figure) == count(bare) + 8  # an error bar for each entry of both parts
    with pytest.raises(ValueError, match="picture is of a square matrix"):
        draw(np.ones(3))
    with pytest.raises(ValueError, match=r"errors have the shape \(3, 3\)"):
        draw(MATRIX, np.ones((3, 3)))


def test_squares_have_an_area_in_proportion_and_the_sign_as_colour():
    figure = pictures.hinton(np.diag([1.0, -0.25]))
    first, last = figure.axes[0].patches[0], figure.axes[0].patches[3]
    assert first.get_width() == pytest.approx(2 * last.get_width())
    assert first.get_facecolor() != last.get_facecolor()


def test_a_pauli_transfer_matrix_has_its_labels_and_scale():
    axes = drawn(pictures.pauli_transfer(np.eye(16))).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()][:5] == ["II", "IX", "IY", "IZ", "XI"]
    assert axes.images[0].get_clim() == (-1, 1)
    assert len(axes.texts) == 16


def test_fidelities_fall_on_logarithmic_axes():
    curves = {"rank 1": [0.9, 0.99], "rank 4": [0.8, 0.97]}
    axes = drawn(pictures.fidelity_against_shots([10, 100], curves, {"rank 1": [0.01, 0.001]})).axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.1, 0.01])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["rank 1", "rank 4"]
