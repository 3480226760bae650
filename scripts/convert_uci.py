"""Convert the two UCI tables that ship with bsfw from R's data files to the arrays in src/bsfw/datasets/bundled.

The raw tables come from two Debian packages and are read with PyPI's `rdata`::

    apt-get download r-cran-cba r-cran-mlbench
    for p in r-cran-*.deb; do dpkg -x "$p" raw; done
    python -m pip install rdata
    python scripts/convert_uci.py raw/usr/lib/R/site-library src/bsfw/datasets/bundled

The output is the same bytes at every run with the same NumPy and zlib. bundled/README.md says what each array holds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import rdata

# Debian's Mushroom.rda lost the first letter of this value name.
MISSPELT = {"ibrous": "fibrous"}


def read_table(path: Path, name: str) -> Any:
    """The data frame `name` of an .rda file."""
    return rdata.read_rda(path, default_encoding="ascii")[name]


def convert_mushroom(table: Any, out: Path) -> None:
    """Write category codes of 21 attributes; every value that occurs later becomes one column, 112 in all."""
    # LIBSVM leaves out stalk-root, the one attribute with missing entries (2,480 of them).
    attributes = [column for column in table.columns if column not in ("class", "stalk-root")]
    codes, names, counts = [], [], []
    for attribute in attributes:
        values, code = np.unique(table[attribute].astype(str).to_numpy(dtype=str), return_inverse=True)
        codes.append(code.astype(np.uint8))
        counts.append(len(values))
        names += [f"{attribute}={MISSPELT.get(value, value)}" for value in values]
    poisonous = table["class"].to_numpy() == "poisonous"
    # One attribute after another (not row by row) compresses to half the size.
    np.savez_compressed(
        out,
        codes=np.stack(codes),
        counts=np.array(counts, dtype=np.uint8),
        poisonous=np.packbits(poisonous),
        names=np.array(names, dtype="S"),
    )


def convert_breast_cancer(table: Any, out: Path) -> None:
    """Write the id and the nine grades 1..10 of the 683 rows that are complete."""
    table = table.dropna()
    grades = [column for column in table.columns if column not in ("Id", "Class")]
    np.savez_compressed(
        out,
        ids=table["Id"].astype(int).to_numpy(dtype=np.int32),
        grades=np.stack([table[grade].astype(str).astype(int).to_numpy(dtype=np.uint8) for grade in grades]),
        malignant=np.packbits(table["Class"].to_numpy() == "malignant"),
        names=np.array(["id", *grades], dtype="S"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("library", type=Path, help="the site-library folder that holds cba/ and mlbench/")
    parser.add_argument("out", type=Path, help="folder to write mushrooms.npz and breast-cancer.npz to")
    arguments = parser.parse_args()
    mushroom = read_table(arguments.library / "cba/data/Mushroom.rda", "Mushroom")
    convert_mushroom(mushroom, arguments.out / "mushrooms.npz")
    cancer = read_table(arguments.library / "mlbench/data/BreastCancer.rda", "BreastCancer")
    convert_breast_cancer(cancer, arguments.out / "breast-cancer.npz")


if __name__ == "__main__":
    main()
