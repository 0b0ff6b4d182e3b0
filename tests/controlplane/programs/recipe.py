"""Which programs there are, and the Go modules that they come from.

Each module has a `go.mod` and a `go.sum` of its own beside this file, since the versions of
Kubernetes' libraries that they need exclude each other.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MODULES_FOLDER = Path(__file__).parent / "modules"
KUBERNETES = "1.36.3"
_STAMP = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Module:
    """One Go module, and the programs that are built from it.

    Attributes
    ----------
    programs
        Name of a program, and the Go package that it is.
    minutes
        How long the first of its programs takes on two cores when nothing is cached.
    prepared_by
        Files of this package that change or copy something of the module.
    """

    name: str
    version: str
    programs: Mapping[str, str]
    minutes: int
    linker: str = "-s -w"
    prepared_by: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where its `go.mod` and `go.sum` are."""
        return MODULES_FOLDER / self.name

    @property
    def label(self) -> str:
        """Name of its folder among what was built."""
        return f"{self.name}-{self.version}"

    def stamp(self) -> str:
        """What a program that was built says of its origin: another origin is built anew."""
        made = hashlib.sha256(self.linker.encode())
        for name in ("go.mod", "go.sum"):
            made.update((self.folder / name).read_bytes())
        for name in self.prepared_by:
            made.update(Path(__file__).with_name(name).read_bytes())
        return made.hexdigest()


MODULES = (
    Module("etcd", "3.6.16", {"etcd": "go.etcd.io/etcd/server/v3"}, minutes=1),
    Module(
        "kubernetes",
        KUBERNETES,
        {
            name: f"k8s.io/kubernetes/cmd/{name}"
            for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
        },
        minutes=5,
        linker=(
            f"-s -w -X {_STAMP}.gitVersion=v{KUBERNETES} -X {_STAMP}.gitMajor=1"
            f" -X {_STAMP}.gitMinor={KUBERNETES.split('.')[1]}"
        ),
    ),
    Module(
        "kueue",
        "0.17.0",
        {"kueue": "sigs.k8s.io/kueue/cmd/kueue"},
        minutes=4,
        prepared_by=("changed_kueue.py", "manifests.py"),
    ),
    Module("kwok", "0.7.0", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, minutes=3),
)
SMOKE = ("etcd", "kube-apiserver", "kueue")
"""What the part of the tests needs that `make test` runs."""

PROGRAMS = {program: module for module in MODULES for program in module.programs}
"""Every program, in the order in which they are worth having."""
