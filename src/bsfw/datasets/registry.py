"""The table of known data sets: where each comes from, what it must hold, and under which terms.

Counts and hashes were computed from copies of the published files. The hash of a file is that of its plain content,
after decompression or extraction, so that it holds for every way in which the file may be stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from bsfw._arrays import shown

MatrixName = Literal[
    "mushrooms",
    "breast-cancer",
    "rcv1_train.binary",
    "a9a",
    "a9a.t",
    "w8a",
    "news20",
    "news20-halves",
    "farm-ads",
    "rcv1-small",
    "rcv1-small.t",
]
RatingsName = Literal["ml-100k", "ml-1m", "ml-latest-small"]


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Attributes
    ----------
    path : str
        ``folder/name`` of the plain file under BSFW_DATA and in the cache.
    url : str
        What the publisher offers: the file itself, a compressed file, or a zip archive.
    member : str or None
        Its name in that archive.
    sha256 : str or None
        Of the published plain content; None where nobody could compute it.
    copies : dict
        Other contents that are accepted: SHA-256 to a note on how they differ from the published one.
    other_names : tuple of str
        Further names, beside that of `path`, under which a copy may lie in the folder.
    remove : bytes
        Marks to cut from the published text so that it becomes LIBSVM text.
    """

    path: str
    url: str
    member: str | None = None
    sha256: str | None = None
    copies: dict[str, str] = field(default_factory=dict)
    other_names: tuple[str, ...] = ()
    remove: bytes = b""

    @property
    def published_path(self) -> str:
        """``folder/name`` of the file exactly as it is downloaded."""
        return str(PurePosixPath(self.path).parent / PurePosixPath(self.url).name)


@dataclass(frozen=True)
class Entry:
    """One data set. `size` counts stored entries (matrices) or ratings; `positives` counts the labels +1."""

    name: str
    kind: Literal["bundled", "matrix", "ratings"]
    shape: tuple[int, int]
    size: int
    origin: str
    licence: str
    citation: str
    files: tuple[File, ...] = ()
    classes: tuple[int, ...] = (-1, 1)
    positives: int | None = None
    note: str | None = None


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_GROUPLENS = "https://files.grouplens.org/datasets/movielens"
_VOWPAL = "https://raw.githubusercontent.com/VowpalWabbit/vowpal_wabbit/master/test"

_CC_BY = "CC BY 4.0"
_UNSTATED = "not stated; research use with citation is customary"
_MOVIELENS = "GroupLens terms: research use with citation; no redistribution and no commercial use without permission"
_MOVIELENS_CITATION = (
    "F. M. Harper, J. A. Konstan, The MovieLens Datasets: History and Context, ACM TiiS 5(4) (2015) 19, "
    "doi 10.1145/2827872"
)
_ADULT = (
    "UCI Adult (doi 10.24432/C5XW20), binarised by J. Platt, published by the LIBSVM data page",
    "B. Becker, R. Kohavi, Adult, UCI (1996); J. Platt, Fast training of SVMs using SMO (1998)",
)
_NEWS20 = File(
    "news20/news20",
    f"{_LIBSVM}/multiclass/news20.bz2",
    sha256="1d6eb77c42e1c78e86f36af834268de933da3607f38e3703aef15f7a9f11e506",
)
_NEWS20_CITATION = "K. Lang, NewsWeeder: learning to filter netnews, ICML (1995); J. Rennie, R. Rifkin (2001)"
_RCV1_CITATION = "D. Lewis, Y. Yang, T. Rose, F. Li, RCV1: a new benchmark collection, JMLR 5 (2004) 361-397"
_RCV1_SMALL = "RCV1-v2 sample of Vowpal Wabbit's tests; the labels are Vowpal Wabbit's, not those of rcv1_train.binary"
_FROM_VOWPAL = "converted from Vowpal Wabbit text by removing its namespace mark; the numbers are untouched"

ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "mushrooms",
            "bundled",
            (8_124, 112),
            170_604,
            "UCI Mushroom (doi 10.24432/C5959T), one-hot without stalk-root; +1 poisonous, -1 edible",
            _CC_BY,
            "J. Schlimmer, Mushroom, UCI (1987), from the Audubon Society Field Guide (1981), doi 10.24432/C5959T",
            positives=3_916,
            note="rebuilt from the UCI table: LIBSVM's mushrooms up to the order of its columns",
        ),
        Entry(
            "breast-cancer",
            "bundled",
            (683, 10),
            6_830,
            "UCI Breast Cancer Wisconsin (Original) (doi 10.24432/C5HP4Z), the complete rows, scaled to [-1, 1]; "
            "column 1 is the sample id; +1 malignant, -1 benign",
            _CC_BY,
            "W. Wolberg, Breast Cancer Wisconsin (Original), UCI (1990), doi 10.24432/C5HP4Z",
            positives=239,
            note="rebuilt from the UCI table: LIBSVM's breast-cancer_scale to its six printed digits",
        ),
        Entry(
            "rcv1_train.binary",
            "matrix",
            (20_242, 47_236),
            1_498_952,
            "RCV1-v2, published by the LIBSVM data page",
            _UNSTATED,
            _RCV1_CITATION,
            (File("rcv1_train.binary/rcv1_train.binary", f"{_LIBSVM}/binary/rcv1_train.binary.bz2"),),
        ),
        Entry(
            "a9a",
            "matrix",
            (32_561, 123),
            451_592,
            _ADULT[0],
            _CC_BY,
            _ADULT[1],
            (
                File(
                    "a9a/a9a",
                    f"{_LIBSVM}/binary/a9a",
                    sha256="f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
                ),
            ),
            positives=7_841,
        ),
        Entry(
            "a9a.t",
            "matrix",
            (16_281, 123),
            225_731,
            f"{_ADULT[0]} (test part)",
            _CC_BY,
            _ADULT[1],
            (
                File(
                    "a9a/a9a.t",
                    f"{_LIBSVM}/binary/a9a.t",
                    sha256="1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
                ),
            ),
            positives=3_846,
        ),
        Entry(
            "w8a",
            "matrix",
            (49_749, 300),
            579_586,
            "web page categorisation, published by the LIBSVM data page",
            _UNSTATED,
            "J. Platt, Fast training of SVMs using SMO (1998)",
            (
                File(
                    "w8a/w8a",
                    f"{_LIBSVM}/binary/w8a",
                    sha256="6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
                ),
            ),
            positives=1_479,
        ),
        Entry(
            "news20",
            "matrix",
            (15_935, 62_061),
            1_272_569,
            "20 Newsgroups word counts, published by the LIBSVM data page (multiclass, training part); y is 1..20",
            _UNSTATED,
            _NEWS20_CITATION,
            (_NEWS20,),
            classes=tuple(range(1, 21)),
        ),
        Entry(
            "news20-halves",
            "matrix",
            (15_935, 62_061),
            1_272_569,
            "derived from news20: classes 1-10 are -1, classes 11-20 are +1, rows scaled to unit length",
            _UNSTATED,
            _NEWS20_CITATION,
            (_NEWS20,),
            note="derived, not a published set; like rcv1_train.binary in size and sparsity but no substitute for it",
        ),
        Entry(
            "farm-ads",
            "matrix",
            (4_143, 54_877),
            817_141,
            "UCI Farm Ads, member farm-ads-vect",
            _CC_BY,
            "C. Mesterharm, M. J. Pazzani, Active learning using on-line algorithms, KDD (2011)",
            (
                File(
                    "farm-ads/farm-ads-vect",
                    f"{_UCI}/00218/farm-ads.zip",
                    member="farm-ads-vect",
                    copies={
                        "cee9de7aef56080a983cfddc22f2fae4dc9fea0804b3d033281c0b4288a4bb11": (
                            "converted from a third party's sparse-array copy of farm-ads-vect; "
                            "the column numbering may differ from the published file"
                        )
                    },
                ),
            ),
            positives=2_210,
        ),
        Entry(
            "rcv1-small",
            "matrix",
            (1_000, 47_236),
            77_739,
            _RCV1_SMALL,
            _UNSTATED,
            _RCV1_CITATION,
            (
                File(
                    "rcv1-small/rcv1_small.train",
                    f"{_VOWPAL}/train-sets/rcv1_small.dat",
                    copies={"c3c1331d70b868ea1cc71c91b7cf94e9c9c1631b709608a57348b995ebebdf6c": _FROM_VOWPAL},
                    remove=b"|f ",
                ),
            ),
            positives=459,
        ),
        Entry(
            "rcv1-small.t",
            "matrix",
            (500, 47_236),
            39_448,
            f"{_RCV1_SMALL} (test part; two of its rows occur in rcv1-small too)",
            _UNSTATED,
            _RCV1_CITATION,
            (
                File(
                    "rcv1-small/rcv1_small.test",
                    f"{_VOWPAL}/test-sets/rcv1_small_test.data",
                    copies={"34e0214e104f6d81009c90611c132f668d27767adf94ab904a0f591a91d1536b": _FROM_VOWPAL},
                    remove=b"|f ",
                ),
            ),
            positives=245,
        ),
        Entry(
            "ml-100k",
            "ratings",
            (943, 1_682),
            100_000,
            "MovieLens 100K, GroupLens Research",
            _MOVIELENS,
            _MOVIELENS_CITATION,
            (
                File(
                    "ml-100k/u.data",
                    f"{_GROUPLENS}/ml-100k.zip",
                    member="ml-100k/u.data",
                    sha256="06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490",
                ),
                File(
                    "ml-100k/u1.test",
                    f"{_GROUPLENS}/ml-100k.zip",
                    member="ml-100k/u1.test",
                    sha256="18c6014a4b2c7324f250a63f8904a7b16b2b19f911129e346141507b0cbac950",
                ),
            ),
            classes=(1, 2, 3, 4, 5),
        ),
        Entry(
            "ml-1m",
            "ratings",
            (6_040, 3_706),
            1_000_209,
            "MovieLens 1M, GroupLens Research; movies without a rating are left out (the ids go up to 3,952)",
            _MOVIELENS,
            _MOVIELENS_CITATION,
            (
                File(
                    "ml-1m/ratings.dat",
                    f"{_GROUPLENS}/ml-1m.zip",
                    member="ml-1m/ratings.dat",
                    copies={
                        "2dad134c8b493373beed8d2a42e18ec2a93606fd957bd76c0bfbdef5c514b985": (
                            "rebuilt from public copies, without the timestamps"
                        )
                    },
                    other_names=("ratings-no-timestamp.dat",),
                ),
            ),
            classes=(1, 2, 3, 4, 5),
        ),
        Entry(
            "ml-latest-small",
            "ratings",
            (610, 9_724),
            100_836,
            "MovieLens latest-small, the version of 26 September 2018, GroupLens Research",
            "GroupLens terms: research use with citation; no commercial use without permission",
            _MOVIELENS_CITATION,
            (
                File(
                    "ml-latest-small/ratings.csv",
                    f"{_GROUPLENS}/ml-latest-small.zip",
                    member="ml-latest-small/ratings.csv",
                    sha256="aa289ca83157595d0df6aea1be6a4ded676ddc4385472e8313a8ed9805352646",
                ),
            ),
            classes=(),
        ),
    )
}


def lookup(name: str) -> Entry:
    """The entry of that name, or a ValueError with the names that are known."""
    if not isinstance(name, str) or name not in ENTRIES:
        raise ValueError(f"unknown data set {shown(name)}; known are {', '.join(ENTRIES)}.")
    return ENTRIES[name]
