"""What an extra brings is imported when it is used; where it is lacking, one sentence says what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

COMMAND = ("filelock", "jinja2", "joblib", "matplotlib", "msgspec", "plotly", "pooch", "rich", "tqdm")
"""What the extra ``cli`` brings: the command, experiments, figures and downloads."""


def extra(module: str, what: str, name: str = "cli") -> Any:
    """A module that the extra `name` brings; where it is lacking, an ImportError says that `what` needs it."""
    root = module.partition(".")[0]
    if not installed(root):
        # The subclass is what `import` itself would raise, so that pytest.importorskip and the like know it.
        raise ModuleNotFoundError(f"{what} needs {root}: pip install 'bsfw[{name}]'", name=root)
    return import_module(module)


def installed(package: str) -> bool:
    """Whether a package could be imported, without importing it."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # a finder that refuses it, a module without a specification
        return False


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """A client of the `dask.distributed` scheduler at this address, for the block."""
    if not installed("distributed"):
        raise ValueError("--scheduler needs dask.distributed: pip install 'bsfw[dask]'")
    from distributed import Client

    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"there is no scheduler at {address} ({' '.join(str(error).split())[:200]}).") from None
    try:
        yield client
    finally:
        client.close()


def missing() -> list[str]:
    """What the command needs and is not installed."""
    return [package for package in COMMAND if not installed(package)]
