"""Blocks on a cluster: the bits of one machine, whatever is killed, stopped or gone on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.blocks import Local, from_arrays, open_blocks, write

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask
import dask.array as da
from distributed import Client, LocalCluster

import bsfw.dask

BALL = bsfw.L1Ball(8.0)
SETTINGS = {"distributed.scheduler.allowed-failures": 1, "distributed.deploy.lost-worker-timeout": "120s"}
pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A problem (600 x 80), its blocks in files, and what one machine makes of it."""
    rng = np.random.default_rng(3)
    A = sp.random(600, 80, density=0.2, random_state=2, format="csr")
    y = np.where(A @ rng.standard_normal(80) + 0.3 * rng.standard_normal(600) > 0, 1.0, -1.0)
    folder = tmp_path_factory.mktemp("blocks") / "train"
    write(folder, A, y, rows=50)
    return A, y, folder, fit(open_blocks(folder))


@pytest.fixture(scope="module")
def client():
    """Two processes, each with a nanny that starts it again."""
    with (
        # A LocalCluster lets a nanny go whose worker is not back in 15 s, which a busy machine may need to start one.
        dask.config.set(SETTINGS),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def threads():
    """A cluster within this process: quick, but nothing of it can be killed."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as made,
    ):
        yield made


def fit(blocks, **settings):
    return bsfw.minimize(bsfw.Logistic(blocks, intercept=True), BALL, gap_tol=1e-9, **settings)


def same(found, known):
    return (found.x.tobytes(), found.fun, found.intercept) == (known.x.tobytes(), known.fun, known.intercept)


def interrupted(blocks, number, act):
    """The blocks, of which the round of that number is preceded by what happens to the cluster."""
    rounds, reduce = [0], blocks.reduce

    def counted(*args, **kwargs):
        rounds[0] += 1
        if rounds[0] == number:
            act()
        return reduce(*args, **kwargs)

    blocks.reduce = counted
    return blocks


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_arrays_have_the_bits_of_one_machine(data, threads, kind):
    A, y, _, known = data
    if kind == "sparse":
        parts = [dask.delayed(A[first : first + 50]) for first in range(0, 600, 50)]
        X = da.concatenate([da.from_delayed(part, (50, 80), A.dtype, meta=A[:0]) for part in parts])
    else:
        X, known = da.from_array(A.toarray(), chunks=(50, 30)), fit(from_arrays(A.toarray(), y, rows=50))
    blocks = bsfw.dask.from_array(X, da.from_array(y, chunks=170), client=threads)
    assert len(blocks) == 12
    assert same(fit(blocks), known)
    with pytest.raises(ValueError, match="X has 600 rows, but y has 599"):
        bsfw.dask.from_array(X, da.from_array(y[1:], chunks=50), client=threads)


def test_a_table_has_the_bits_of_one_machine(data, threads):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    A, y, _, _ = data
    names = [f"f{j}" for j in range(80)]
    frame = pd.DataFrame(A.toarray(), columns=names).assign(click=y, importance=np.linspace(0.5, 2.0, 600))
    table = dd.from_pandas(frame, npartitions=5)
    blocks = bsfw.dask.from_dataframe(table, label="click", weight="importance", client=threads)
    found, cuts = fit(blocks), np.cumsum([0, *(one.rows for one in blocks.descriptions)])
    known = fit(in_memory(A, y, frame.importance.to_numpy(), cuts))  # the same cuts, in memory
    assert same(found, known)
    assert blocks.feature_names == tuple(names)
    with pytest.raises(ValueError, match="no column 'clicks'"):
        bsfw.dask.from_dataframe(table, label="clicks", client=threads)


def in_memory(A, y, w, cuts):
    parts = [from_arrays(A[a:b].toarray(), y[a:b], sample_weight=w[a:b]) for a, b in pairwise(cuts)]
    return Local([part._sources[0] for part in parts])


def test_a_nan_names_its_block_and_row(data, threads):
    A, y = data[0].toarray(), data[1]
    A[257, 3] = np.nan
    blocks = bsfw.dask.from_array(da.from_array(A, chunks=(50, 80)), da.from_array(y, chunks=50), client=threads)
    with pytest.raises(ValueError, match=r"block 5: row 7 .* column 3"):
        bsfw.Logistic(blocks)


def test_the_command_fits_on_a_cluster(data, threads, tmp_path):
    from bsfw.cli import main

    out = tmp_path / "model.npz"
    options = [
        "--loss",
        "logistic",
        "--constraint",
        "l1",
        "--radius",
        "8",
        "--intercept",
        "--gap-tol",
        "1e-9",
        "--quiet",
    ]
    there = ["--scheduler", threads.scheduler.address, "--out", str(out)]
    assert main(["solve", str(data[2]), *options, *there]) == 0
    assert bsfw.load_model(out).coef.tobytes() == data[3].x.tobytes()


def test_two_fits_share_a_cluster(data, threads):
    ends = {}

    def work(name):
        ends[name] = fit(bsfw.dask.open_blocks(data[2], client=threads))

    runs = [threading.Thread(target=work, args=(name,)) for name in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert same(ends[0], data[3])
    assert same(ends[1], data[3])


def test_a_run_goes_on_where_the_scheduler_was_lost(data, tmp_path):
    path = tmp_path / "run.npz"
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50)
    client = Client(cluster)
    blocks = interrupted(bsfw.dask.open_blocks(data[2], client=client), 12, cluster.close)
    with pytest.raises(ConnectionError, match=r"scheduler of the cluster is gone.*go on from the checkpoint"):
        fit(blocks, checkpoint=path, every=1)
    client.close()
    rest = bsfw.resume(path, bsfw.Logistic(open_blocks(data[2], threads=1), intercept=True), BALL)
    assert same(rest, data[3])


def test_killed_workers_change_nothing(data, client):
    for count in (1, 2):
        client.wait_for_workers(2, timeout=60)

        def kill(count=count):
            for pid in list(client.run(os.getpid).values())[:count]:
                os.kill(pid, signal.SIGKILL)

        blocks = interrupted(bsfw.dask.open_blocks(data[2], client=client), 8, kill)
        assert same(fit(blocks), data[3])


def end(block):
    if block.name.endswith("00007"):
        os._exit(1)
    return (block.m,)


def test_a_task_that_kills_its_workers_is_given_up_by_name(data, client):
    client.wait_for_workers(2, timeout=60)
    blocks = bsfw.dask.open_blocks(data[2], client=client)
    with pytest.raises(RuntimeError, match=r"00007 was given up: .* 2 of them in turn"):
        blocks.reduce(end)


def test_a_stopped_worker_is_given_up_in_time(data, client):
    client.wait_for_workers(2, timeout=60)
    assert same(fit(bsfw.dask.open_blocks(data[2], client=client)), data[3])  # both have loaded what they need
    pid = next(iter(client.run(os.getpid).values()))
    blocks = interrupted(
        bsfw.dask.open_blocks(data[2], client=client, patience=5.0), 8, lambda: os.kill(pid, signal.SIGSTOP)
    )
    try:
        began = time.monotonic()
        assert same(fit(blocks), data[3])
        assert time.monotonic() - began < 120  # Dask alone would wait for five minutes
    finally:
        os.kill(pid, signal.SIGKILL)
