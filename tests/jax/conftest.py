import pytest

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def double_precision(request):
    """Tests run with double precision unless they say otherwise; JAX is left as it was found."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", "single" not in request.keywords)
    yield
    jax.config.update("jax_enable_x64", before)
