"""The files of the folder deploy: the Dockerfile, its steps as a script, the compose file, the Space card."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from vocadapt.cli import main
from vocadapt.lab.sharing import Sharing

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
FLAGS = {f"--{name.replace('_', '-')}" for name in vars(Sharing())}
FLAGS |= {"--no-browser", "--address", "--port", "--workspace"}


def run_steps(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run deploy/run_steps.py."""
    command = [sys.executable, str(DEPLOY / "run_steps.py"), str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def script(tmp_path_factory) -> tuple[Path, str]:
    """The script of the steps, and the folder in which it would run."""
    folder = tmp_path_factory.mktemp("image")
    return folder, run_steps(folder, "--print", "--port", "8977").stdout


def test_the_script_has_every_step_of_the_dockerfile(script):
    folder, text = script
    commands = re.findall(r"^RUN (.*)", DOCKERFILE, re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        here = re.sub(r"(?<![\w/.])(/build|/home/lab|/data)\b", rf"{folder}\1", command)
        if "useradd" in command:
            assert any(line.startswith("#") and line.endswith(command) for line in text.split("\n"))
        else:
            assert f"\n{here}\n" in text, command
    assert subprocess.run(["sh", "-n", "-c", text], check=False).returncode == 0
    started = "vocadapt app --no-browser --address 0.0.0.0 --port 8977"
    assert started in text and f"--workspace {folder}" in text
    assert "http://127.0.0.1:8977/_stcore/health" in text


def test_nothing_is_written_outside_of_the_folder(script):
    folder, text = script
    lines = [line for line in text.splitlines() if not line.startswith(("#", "echo "))]
    places = set(re.findall(r"(?<![\w/.:=-])/[\w./-]+", "\n".join(lines)))
    outside = {one for one in places if not one.startswith((str(folder), str(ROOT), "/dev/null"))}
    assert outside == set()


def test_the_build_takes_the_whole_package_and_no_secret(script, tmp_path):
    _, text = script
    source, target = tmp_path / "source", tmp_path / "target"
    kept = ["app.py", "vocadapt/lab/workspace/a.py", "pages/build/a.py", ".streamlit/config.toml"]
    left = ["workspace/a", "build/a", ".git/a", ".streamlit/secrets.toml", "tests/a", "deploy/a"]
    for name in (*kept, *left):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("a")
    copy = next(line for line in text.splitlines() if " tar -C " in line)
    copy = re.sub(r"mkdir -p \S+", f"mkdir -p {target}", copy)
    copy = re.sub(r"tar -C \S+ -xf", f"tar -C {target} -xf", copy).replace(str(ROOT), str(source))
    subprocess.run(["sh", "-c", copy], check=True)
    found = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert found == set(kept)


def test_the_steps_run_in_an_empty_folder_only(tmp_path):
    (tmp_path / "a").write_text("a")
    done = run_steps(tmp_path)
    assert done.returncode == 2 and ("not empty" in done.stderr or "without rights" in done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_image_is_run_by_a_user_without_rights():
    lab = DOCKERFILE[DOCKERFILE.index("AS lab") :]
    root = lab[: lab.index("\nUSER lab")]
    assert root.count("\nRUN") == 1 and "USER root" not in DOCKERFILE
    assert "\nVOLUME /data" in lab and "\nHEALTHCHECK" in lab


@pytest.mark.parametrize("line", re.findall(r"^CMD \[(.*)\]", DOCKERFILE, re.MULTILINE))
def test_the_image_starts_the_lab_with_options_that_it_has(line):
    command = re.findall(r'"([^"]*)"', line)
    assert command[:2] == ["vocadapt", "app"]
    assert {word for word in command if word.startswith("--")} <= FLAGS


def test_the_compose_file_serves_a_class():
    lab, proxy = COMPOSE["services"]["lab"], COMPOSE["services"]["proxy"]
    flags = {word.partition("=")[0] for word in lab["command"] if word.startswith("--")}
    assert {"--sign-in", "--workspace-per-visitor", "--host-name"} <= flags <= FLAGS
    assert lab["build"]["target"] in re.findall(r"AS (\w+)", DOCKERFILE)
    assert "ports" not in lab and lab["expose"] == ["8501"]  # reachable through the proxy alone
    assert proxy["environment"]["LAB_ADDRESS"] == "lab:8501"
    for mount in (*lab["volumes"], *proxy["volumes"]):
        name = mount.split(":")[0]
        assert name in COMPOSE["volumes"] or name.startswith("./")


def test_the_card_of_the_space_names_the_port_of_the_image():
    front = (DEPLOY / "space" / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    card = yaml.safe_load(front)
    assert card["sdk"] == "docker" and f"EXPOSE {card['app_port']}\n" in DOCKERFILE
    assert len(card["short_description"]) <= 60 and card["license"] == "apache-2.0"
    assert DOCKERFILE.rindex("AS demo") > DOCKERFILE.rindex(
        "AS lab"
    )  # a Space builds the last stage


def test_the_example_of_secrets_is_the_one_of_the_docs():
    example = tomllib.loads((DEPLOY / "secrets.example.toml").read_text(encoding="utf-8"))
    docs = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert tomllib.loads(docs.split("```toml\n")[1].split("```")[0]) == example
    assert set(example["auth"]) >= {"redirect_uri", "cookie_secret", "client_id", "client_secret"}


def test_the_docs_name_no_option_that_does_not_exist(capsys):
    docs = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    named = {flag for flag in re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", docs)}
    with pytest.raises(SystemExit):
        main(["app", "--help"])
    # Those of docker and Caddy, and of other commands.
    others = {"--publish", "--build-arg", "--file", "--target", "--tag", "--init", "--volume"}
    others |= {"--build", "--detach", "--config", "--model", "--out"}
    assert named - others <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
