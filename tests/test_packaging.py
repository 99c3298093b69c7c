"""The wheel: its files, its metadata, and the packages that it needs."""

import ast
import configparser
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from functools import cache
from importlib import metadata
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.material.sources import list_modules, list_nodes, parse, read_pins, read_source

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# The modules of some packages have other names.
PACKAGES = {"sklearn": "scikit-learn", "umap": "umap-learn", "pynvml": "nvidia-ml-py"}


def list_requirements(*extras):
    """The declared packages by name, with those of the extras."""
    lines = PROJECT["dependencies"] + [
        line for extra in extras for line in PROJECT["optional-dependencies"][extra]
    ]
    return {canonicalize_name(one.name): one for one in map(Requirement, lines)}


@cache
def list_imports():
    """The third-party packages that the code imports."""
    found = set()
    for path in list_modules():
        for node in list_nodes(parse(read_source(path))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
            found |= {module.split(".")[0] for module in modules}
    return {
        canonicalize_name(PACKAGES.get(one, one))
        for one in found - set(sys.stdlib_module_names) - {"vocadapt"}
    }


# --- what is needed
# ------------------------------------------------------------------------------------------------


def test_every_imported_package_is_declared():
    declared = set(list_requirements(*PROJECT["optional-dependencies"]))
    assert list_imports() - declared == set()


def test_every_package_that_is_always_needed_is_imported_somewhere():
    """The others are used by name: accelerate by transformers, kaleido by plotly."""
    assert set(list_requirements()) - list_imports() == {"kaleido"}


def test_the_lock_pins_every_range():
    pins = read_pins()
    for name, requirement in list_requirements("umap", "fast").items():
        assert requirement.specifier.contains(pins[name]), f"{requirement}: {pins[name]} is pinned"
        assert requirement.specifier, name


def skip_for_other_versions():
    if os.environ.get("VOCADAPT_OTHER_VERSIONS"):
        pytest.skip("other versions than those of the lock are tested on purpose")


def test_the_lock_leaves_nothing_unpinned():
    """Follows what the installed packages need."""
    skip_for_other_versions()
    pins = read_pins()
    missing = []
    for name in pins:
        for line in metadata.requires(name) or []:
            needed = Requirement(line)
            applies = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if applies and canonicalize_name(needed.name) not in pins:
                missing.append(f"{name} needs {needed.name}")
    # torch needs other packages for each processor and system: they come with its build.
    assert [one for one in missing if not one.startswith("torch needs")] == []


def test_the_environment_has_the_pinned_versions():
    """The tests run with what the lock says."""
    skip_for_other_versions()
    wrong = {
        name: metadata.version(name)
        for name, pin in read_pins().items()
        if metadata.version(name).partition("+")[0] != pin
    }
    assert wrong == {}


# --- .ci/audit
# ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def audit():
    """The script .ci/audit as a module."""
    loader = SourceFileLoader("audit", str(ROOT / ".ci" / "audit"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("audit", loader))
    sys.modules["audit"] = module  # dataclasses look their module up
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    yield module
    del sys.modules["audit"]


@pytest.fixture(scope="module")
def reviewed():
    return tomllib.loads((ROOT / ".ci" / "audit.toml").read_text(encoding="utf-8"))


def test_every_pin_has_a_license_that_is_allowed(audit, reviewed):
    skip_for_other_versions()
    assert audit.check_licenses(read_pins(), reviewed["licenses"]) == []
    # What needs an exception is named with its reason, and no pin is under the GPL or the AGPL.
    exceptions = {one["package"]: one["license"] for one in reviewed["licenses"]["exceptions"]}
    assert exceptions == {"gensim": "LGPL-2.1-only", "certifi": "MPL-2.0", "tqdm": "MPL-2.0"}
    assert all(len(one["reason"]) > 20 for one in reviewed["licenses"]["exceptions"])
    assert not any("GPL" in name for name in reviewed["licenses"]["allowed"])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only OR MIT AND ISC", True),
        ("MIT OR GPL-3.0-only AND ISC", True),
        ("(MIT OR GPL-3.0-only) AND LGPL-3.0-only", False),
        ("ISC AND (GPL-3.0-only OR (MIT))", True),
        ("MIT OR ISC AND (GPL-3.0-only AND GPL-3.0-only)", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("", False),
        ("MIT AND", False),
        ("(MIT", False),
        ("T", False),
    ],
)
def test_an_spdx_expression_is_evaluated(audit, expression, expected):
    assert audit.is_allowed(expression, {"MIT", "ISC"}) is expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ("License-Expression: MIT\nLicense: GPL", "MIT"),
        ("Classifier: License :: OSI Approved :: MIT License\nLicense: other", "MIT"),
        (
            "Classifier: License :: OSI Approved :: MIT License\n"
            "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
            "MIT AND [GNU General Public License v3 (GPLv3)]",
        ),
        ("Classifier: License :: OSI Approved\nLicense: BSD", "BSD-3-Clause"),
        ("License: MIT License\n        Copyright", "MIT"),
        ("License: Terms of our own", "Terms of our own"),
        ("Name: nothing", None),
    ],
)
def test_a_license_is_read_from_the_metadata(audit, reviewed, facts, expected):
    found = audit.read_license(message_from_string(facts + "\n"), reviewed["licenses"]["names"])
    assert found == expected


def test_a_license_that_nobody_allowed_and_an_exception_without_use_are_findings(audit, reviewed):
    rules = dict(reviewed["licenses"])
    (not_allowed,) = audit.check_licenses(["gensim"], {**rules, "exceptions": []})
    assert not_allowed.startswith("gensim ") and "LGPL-2.1-only" in not_allowed
    one = {"package": "numpy", "license": "GPL-3.0-only", "reason": ""}
    (unused,) = audit.check_licenses(["numpy"], {**rules, "exceptions": [one]})
    assert "exception for" in unused and "numpy" in unused


def test_a_package_that_states_no_license_is_a_finding(audit, reviewed, monkeypatch):
    facts = message_from_string("Name: secret\n")
    monkeypatch.setattr(audit.metadata, "metadata", lambda name: facts)
    rules = {**reviewed["licenses"], "exceptions": []}
    (finding,) = audit.check_licenses(["secret"], rules)
    assert finding.startswith("secret ") and finding.endswith("no license")


def test_a_package_without_a_pin_is_found(audit):
    resolved = ["Torch", "nvidia-cublas-cu12", "typing_extensions", "left-out"]
    assert audit.find_unpinned(["torch", "typing-extensions"], resolved) == ["left-out"]


KNOWN = [{"id": "PYSEC-2018-66", "aliases": ["CVE-2018-1000656"], "fix_versions": ["0.12.3"]}]
CANARY = {"name": "Flask", "version": "0.12.2", "vulns": KNOWN}


def test_a_database_without_packages_is_no_answer(audit):
    """pip-audit then reports no known vulnerabilities and exits with 0."""
    skipped = [{"name": name, "skip_reason": "not found on PyPI"} for name in ("flask", "numpy")]
    clean = [{"name": name, "version": "1", "vulns": []} for name in ("flask", "numpy")]
    for packages in (skipped, clean):
        with pytest.raises(ValueError, match="flask"):
            audit.read_answer(json.dumps({"dependencies": packages}))


def test_the_exit_status_says_whether_the_pins_were_looked_up(audit, monkeypatch, capsys):
    others = [{"name": name, "version": "1", "vulns": []} for name in list(read_pins())[1:]]
    skipped = {"name": "torch", "skip_reason": "not found on PyPI"}
    safe = {"name": "torch", "version": "1", "vulns": []}
    unsafe = {"name": "torch", "version": "1", "vulns": [{"id": "GHSA-1", "aliases": ["CVE-1"]}]}
    for torch, status in ((safe, 0), (unsafe, 1), (skipped, 3), (None, 3)):
        answer = None
        if torch:
            text = json.dumps({"dependencies": [CANARY, torch, *others]})
            answer = audit.read_answer(text)
        monkeypatch.setattr(audit, "look_up_pins", lambda pins, a=answer: [("a", a, "no route")])
        assert audit.main(["vulnerabilities"]) == status
        written = capsys.readouterr().out
        assert ("NOT AUDITED" in written) == (status == 3)
        assert ("CVE-1, GHSA-1" in written) == (status == 1)


def test_a_reviewed_advisory_is_accepted_while_it_is_needed(audit, monkeypatch):
    unsafe = {"name": "torch", "version": "1", "vulns": [{"id": "GHSA-1", "aliases": ["CVE-1"]}]}
    answer = audit.read_answer(json.dumps({"dependencies": [CANARY, unsafe]}))
    monkeypatch.setattr(audit, "look_up_pins", lambda pins: [("a", answer, "")])
    entries = [{"package": "torch", "id": name, "reason": ""} for name in ("CVE-1", "CVE-2")]
    assert audit.check_vulnerabilities({"torch": "1"}, entries[:1]) == ([], [])
    found = (["the entry of torch, CVE-2, is not needed"], [])
    assert audit.check_vulnerabilities({"torch": "1"}, entries) == found


# --- what is built
# ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def list_tracked(*folders):
    """The files of the repository in some folders."""
    command = ["git", "ls-files", "-z", *folders]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in found.split("\0") if name and (ROOT / name).is_file()}


def test_the_wheel_has_the_package_the_pages_and_the_demo(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    files = {name for name in names if ".dist-info/" not in name}
    # Everything that git knows, except scripts that made the demo and the picture of the README.
    shipped = {
        name
        for name in list_tracked("app.py", "pages", "assets", ".streamlit")
        if not re.fullmatch(r"assets/demo/\w+\.py|assets/alignment\.png", name)
    }
    expected = list_tracked("vocadapt") | {f"vocadapt/shipped/{name}" for name in shipped}
    assert files == expected
    assert "vocadapt/py.typed" in files and "vocadapt/shipped/pages/start/home.py" in files


def test_nothing_but_the_package_is_at_the_top(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"vocadapt"}


def test_the_metadata_says_what_the_package_is(wheel):
    archive = zipfile.ZipFile(wheel)
    names = {Path(name).name: name for name in archive.namelist() if ".dist-info/" in name}
    facts = message_from_string(archive.read(names["METADATA"]).decode("utf-8"))
    assert facts["Name"] == "vocadapt" and facts["License-Expression"] == "Apache-2.0"
    assert facts["Requires-Python"] == ">=3.11"
    assert facts["Description-Content-Type"] == "text/markdown"
    assert set(facts.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert "Apache License" in archive.read(names["LICENSE"]).decode("utf-8")
    points = configparser.ConfigParser()
    points.read_string(archive.read(names["entry_points.txt"]).decode("utf-8"))
    assert points["console_scripts"]["vocadapt"] == "vocadapt.cli:main"
    # Pure Python, for every version and system.
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.slow
def test_the_source_distribution_builds_the_same_wheel(wheel, tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    shutil.unpack_archive(next(tmp_path.glob("*.tar.gz")), tmp_path / "source")
    source = next((tmp_path / "source").iterdir())
    subprocess.run([*build, "-t", "wheel"], cwd=source, check=True, capture_output=True)
    again = zipfile.ZipFile(next(tmp_path.glob("*.whl")))
    first = zipfile.ZipFile(wheel)
    sizes = [{one.filename: one.CRC for one in archive.infolist()} for archive in (first, again)]
    assert sizes[0] == sizes[1]
