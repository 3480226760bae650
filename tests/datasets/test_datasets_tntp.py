"""TNTP networks: what is read, what is refused, and the published flows where they are on this machine."""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest

import bsfw
from bsfw.datasets import read_tntp

NET = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 4
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 5
<ORIGINAL HEADER>~ tail head ;
<END OF METADATA>

~ init term capacity length fft b power speed toll type ;
 1 3 10 1.5 2 0.15 4 30 7 1 ;
 3 2 10 1 2 0.15 4 30 0 1 ;
 1 4 20 1 3 0.15 4 30 0 1 ;
 4 2 20 1 3 0.15 4 30 0 1 ; ~ a remark
 1 4 5 1 1 1 1 ;
"""
TRIPS = """<NUMBER OF ZONES> 2
<TOTAL OD FLOW> 12
<END OF METADATA>

Origin 1
 1 : 3.0;  2 : 9.5 ;
Origin 2
 1 : 0.0;
"""
FLOW = "From \tTo \tVolume \tCost \n1\t3\t5\t0\n3\t2\t5\t0\n1\t4\t1\t0\n4\t2\t4.5\t0\n1\t4\t3.5\t0\n"


@pytest.fixture
def network(tmp_path):
    def write(net=NET, trips=TRIPS, flow=FLOW):
        for part, text in (("net", net), ("trips", trips), ("flow", flow)):
            if text is not None:
                (tmp_path / f"toy_{part}.tntp").write_text(text)
        return tmp_path / "toy"

    return write


def test_a_network_is_read_with_its_columns_demands_and_flows(network):
    found = read_tntp(network())
    assert found.name == "toy"
    assert found.edges.tolist() == [[0, 2], [2, 1], [0, 3], [3, 1], [0, 3]]
    assert (found.zones, found.nodes, found.centroids.tolist()) == (2, 4, [0, 1])
    assert found.demands.tolist() == [[0, 1, 9.5]]
    assert found.intrazonal == 3.0
    assert found.flow.tolist() == [5.0, 5.0, 1.0, 4.5, 3.5]
    assert found.length.tolist() == [1.5, 1, 1, 1, 1]
    costs = found.costs(toll=0.1, distance=2.0)
    assert costs.fixed == pytest.approx([0.7 + 3.0, 2.0, 2.0, 2.0, 2.0])
    assert (costs.capacity[4], costs.power[4]) == (5.0, 1.0)
    assert found.polytope(2.0).demands.tolist() == [[0, 1, 19.0]]
    assert found.polytope().contains(found.flow)


def test_the_flow_file_may_lack_and_any_file_be_compressed(network, tmp_path):
    prefix = network(flow=None)
    (tmp_path / "toy_trips.tntp").unlink()
    (tmp_path / "toy_trips.tntp.xz").write_bytes(lzma.compress(TRIPS.encode()))
    found = read_tntp(str(prefix))
    assert found.flow is None
    assert len(found.demands) == 1


@pytest.mark.parametrize(
    ("part", "old", "new", "message"),
    [
        ("net", "<NUMBER OF NODES> 4", "<NUMBER OF NODES> 99999999999", "NUMBER OF NODES> with a whole number from 1"),
        ("net", "<NUMBER OF LINKS> 5", "<NUMBER OF LINKS> 6", "declares 6 links, but holds 5"),
        ("net", "<NUMBER OF ZONES> 2\n", "", "NUMBER OF ZONES.*says 'nothing'"),
        ("net", " 3 2 10", " 3 9 10", "line 10: a link ends at nodes 1 to 4, not 3 and 9"),
        ("net", " 3 2 10", " 3 2 nan", "line 10: .* should be finite numbers"),
        ("net", "1 4 5 1 1 1 1", "1 4 5 1", "line 13: a link has 7 to 10 columns"),
        ("trips", "2 : 9.5", "3 : 9.5", "line 6: zones are numbered from 1 to 2, but this one is 3"),
        ("trips", "2 : 9.5", "2 9.5", "line 6: '2 9.5' should read 'zone : trips;'"),
        ("trips", "2 : 9.5", "2 : -1", "line 6: -1 trips are negative"),
        ("trips", "2 : 9.5", "2 : 0", "no trips between different zones"),
        ("trips", "Origin 1\n", "", "below an 'Origin zone'"),
        ("flow", "3\t2\t5\t0\n", "", "lacks the flow of 1 links"),
        ("flow", "3\t2\t5", "2\t3\t5", "should read 'from to volume cost'"),
    ],
)
def test_what_is_no_network_has_its_sentence(network, part, old, new, message):
    texts = {"net": NET, "trips": TRIPS, "flow": FLOW}
    assert old in texts[part]
    texts[part] = texts[part].replace(old, new)
    with pytest.raises(ValueError, match=message):
        read_tntp(network(**texts))


def test_what_is_not_there_has_its_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*nothing'_net\.tntp"):
        read_tntp(tmp_path / "nothing")
    with pytest.raises(TypeError, match="the common beginning"):
        read_tntp(3)


@pytest.mark.parametrize(
    ("name", "trips", "weights", "value", "gap"),
    [
        ("SiouxFalls", 1.0, {}, 4_231_335.287107, 1e-14),
        ("Anaheim", 1.0, {}, 1_286_032.171096, 1e-13),
        ("ChicagoSketch", 1.0, {"toll": 0.02, "distance": 0.04}, 17_313_018.7387, 1e-11),
    ],
)
def test_the_published_flows_are_an_equilibrium(name, trips, weights, value, gap):
    """Beckmann's value as published; no path is cheaper than those taken."""
    prefix = Path(os.environ.get("BSFW_DATA", "")) / "networks" / name
    if not Path(f"{prefix}_net.tntp").exists():
        pytest.skip(f"needs the network {name} under BSFW_DATA")
    network = read_tntp(prefix)
    costs = network.costs(**weights)
    assert costs.value(network.flow) == pytest.approx(value, rel=1e-11)
    t = costs.gradient(network.flow)
    best = network.polytope(trips).lmo(t).inner(t)
    assert abs(t @ network.flow - best) <= gap * best
    assert isinstance(costs, bsfw.LinkCosts)


def test_total_demand_of_sioux_falls():
    prefix = Path(os.environ.get("BSFW_DATA", "")) / "networks" / "SiouxFalls"
    if not Path(f"{prefix}_net.tntp").exists():
        pytest.skip("needs the network SiouxFalls under BSFW_DATA")
    assert np.sum(read_tntp(prefix).demands[:, 2]) == 360_600.0
