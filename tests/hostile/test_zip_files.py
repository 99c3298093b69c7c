"""Zip files of unknown origin: damaged ones and bombs are one InputError, in bounded memory.

Both readers are tested: an exported workspace, and a benchmark that is downloaded as a zip file.
"""

import io
import random
import struct
import tracemalloc
import zipfile

import pytest

from tests.material.input_errors import raises_input_error
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.housekeeping.copies import MAX_EXPANSION, open_export
from vocadapt.system import zip_files
from vocadapt.system.files import MEGABYTE
from vocadapt.training.tasks.benchmarks import Card, CardFile, download_benchmark

MEMBER = "models/m/notes.txt"
CARD = Card(
    "x/y", "ner", base="http://127.0.0.1:9/", files={"train": CardFile("a.zip", "", MEMBER)}
)


def pack(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(MEMBER, content)
    return file.getvalue()


def replace(content: bytes, at: int, value: bytes) -> bytes:
    return content[:at] + value + content[at + len(value) :]


SOUND = pack(b"heart " * 100, zipfile.ZIP_DEFLATED)
DIRECTORY = SOUND.index(b"PK\x01\x02")  # the list of members
END = SOUND.index(b"PK\x05\x06")
DATA = 30 + len(MEMBER)
DAMAGED: dict[str, tuple[bytes, str]] = {  # content, and what is said of it
    "empty": (b"", "not a zip file"),
    "text": (b"heart disease", "not a zip file"),
    "cut": (SOUND[:-30], "not a zip file"),
    "data": (replace(SOUND, DATA, b"\xff" * 8), "Error -3"),
    "content": (replace(pack(b"heart"), DATA, b"HEART"), "Bad CRC-32"),
    "short": (replace(SOUND, DIRECTORY + 20, struct.pack("<L", 5)), "Bad CRC-32|EOF|Truncated"),
    "encrypted": (
        replace(replace(SOUND, 6, b"\x01"), DIRECTORY + 8, b"\x01"),
        "encrypted, password required",
    ),
    "patched": (
        replace(replace(SOUND, 6, b"\x20"), DIRECTORY + 8, b"\x20"),
        "patched",
    ),
    "offset": (
        replace(SOUND, END + 16, b"\xff" * 4),
        "a position outside of it",
    ),
    "method": (
        replace(replace(SOUND, 8, b"\x61\x00"), DIRECTORY + 10, b"\x61\x00"),
        "not compressed by the method deflate",
    ),
    "bzip2": (pack(b"heart", zipfile.ZIP_BZIP2), "not compressed by the method deflate"),
    "lzma": (pack(b"heart", zipfile.ZIP_LZMA), "not compressed by the method deflate"),
}


def read_as_export(content, folder):
    (folder / "a.zip").write_bytes(content)
    open_export(folder / "a.zip", folder / "w")


def read_as_benchmark(content, folder):
    (folder / "a.zip").write_bytes(content)
    (folder / "out").mkdir()
    download_benchmark(CARD, folder / "out", str(folder))


READERS = [read_as_export, read_as_benchmark]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_one_message(name, read, tmp_path):
    content, said = DAMAGED[name]
    with pytest.raises(InputError, match=said) as caught:
        read(content, tmp_path)
    assert caught.value.remedy and len(caught.value.problem) < 400
    assert not (tmp_path / "w").exists()


def test_the_command_ends_with_code_2_and_leaves_nothing(tmp_path, capsys):
    (tmp_path / "a.zip").write_bytes(DAMAGED["encrypted"][0])
    assert main(["workspace", "open", str(tmp_path / "a.zip"), "--out", str(tmp_path / "w")]) == 2
    assert "password required" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_no_damage_raises_anything_else():
    """Bytes of sound files are changed at random."""
    rng = random.Random(5)
    sound = [SOUND, pack(b"heart"), pack(b"heart" * 99, zipfile.ZIP_BZIP2)]
    refused = 0
    for _ in range(2000):
        content = bytearray(rng.choice(sound))
        for _ in range(rng.randint(1, 4)):
            content[rng.randrange(len(content))] = rng.choice([0, 1, 255, rng.randrange(256)])
        try:
            with zip_files.open_zip(io.BytesIO(bytes(content)), "a.zip", "Repair it.") as archive:
                for member in archive.infolist():
                    list(zip_files.read_member(archive, member, "a.zip", "Repair it."))
        except InputError:
            refused += 1
    assert refused > 1000


def measure_peak(act) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_of_another_method_is_not_unpacked(method, read, tmp_path):
    """The zip module would unpack each of its blocks as a whole."""
    bomb = pack(b"\0" * 32 * MEGABYTE, method)
    assert len(bomb) < 20_000
    assert measure_peak(lambda: read(bomb, tmp_path)) < 8 * MEGABYTE


def test_an_export_unpacks_to_a_multiple_of_its_size_only(tmp_path):
    bomb = pack(b"\0" * 4 * MEGABYTE, zipfile.ZIP_DEFLATED)
    with raises_input_error("expands-too-much", "4.2 MB", str(MAX_EXPANSION)):
        read_as_export(bomb, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip"]


def test_a_member_that_is_larger_than_it_claims_stops_at_its_claim():
    with zipfile.ZipFile(io.BytesIO(SOUND)) as archive:
        [member] = archive.infolist()
        member.file_size = 50
        with pytest.raises(InputError):
            list(zip_files.read_member(archive, member, "a.zip", "Repair it."))


def test_members_of_one_place_are_not_unpacked_again_and_again(tmp_path):
    """Entries of the list that share their data, as in bombs of overlapping members."""
    entry, end = SOUND[DIRECTORY:END], bytearray(SOUND[END:])
    end[8:12] = struct.pack("<HH", 1000, 1000)
    end[12:16] = struct.pack("<L", 1000 * len(entry))
    with pytest.raises(InputError):
        read_as_export(SOUND[:DIRECTORY] + entry * 1000 + bytes(end), tmp_path)
    assert not (tmp_path / "w").exists()


def test_a_long_list_of_members_is_not_read(tmp_path):
    """Each entry of 46 bytes would take ten times as much memory."""
    size = zip_files.MAX_DIRECTORY_BYTES + 46
    entry = b"PK\x01\x02".ljust(46, b"\0")
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 1, 1, size, 0, 0)
    content = (entry * (size // 46 + 1))[:size] + end
    with raises_input_error("invalid-zip", "16 MB"):
        read_as_export(content, tmp_path)
