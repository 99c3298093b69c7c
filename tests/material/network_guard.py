"""Refuse and record every connection and name lookup that leaves this machine.

An audit hook sees what Python code does with sockets, whichever library it belongs to. It is
installed for the whole test run (tests/conftest.py) and, by `guarded_processes/sitecustomize.py`, in
every Python process that a test starts. Each attempt is a line in the file that RECORD names, and
the call fails as it would without a network. Only the standard library is imported.
"""

import fcntl
import ipaddress
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RECORD = "NETWORK_RECORD"  # environment variable: the file of the attempts
PROCESSES = Path(__file__).parent / "guarded_processes"
CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg")  # arguments: socket, address
LOOKUPS = (
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "socket.getnameinfo",
)
REVERSE = LOOKUPS[2:]  # these ask for the name of an address
FAMILIES = (socket.AF_INET, socket.AF_INET6)
# Loopback names, and the addresses that a server binds to.
LOCAL_NAMES = ("", "localhost", "::", "0.0.0.0")
GET_ADDRESS = 0x8915  # SIOCGIFADDR: the address of a network interface
_installed: list[bool] = []
_taken = [0]  # where `take_attempts` has read to in the record
_own_addresses: list[str] = []  # the nodes of a Ray cluster on this machine use them


class NetworkRefusedError(OSError):
    """A test, or the code that it runs, tried to reach another host."""


def install() -> None:
    """Guard this process, and its copies by fork; does nothing the second time."""
    if not _installed:
        _installed.append(True)
        _own_addresses.extend(list_own_addresses())
        sys.addaudithook(_refuse_other_hosts)


def guard_started_processes() -> None:
    """Guard every Python process that this one starts, whatever its environment: the folder of
    sitecustomize.py is first on its PYTHONPATH. (`python -I` ignores PYTHONPATH.)
    """
    os.environ.update(_add_guard(os.environ))  # processes of multiprocessing
    original = subprocess.Popen.__init__

    def start(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        if len(rest) < 10:  # the tenth of them is env
            environment = options.get("env")
            options["env"] = _add_guard(os.environ if environment is None else environment)
        original(self, args, *rest, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]


def _add_guard(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the guard on its PYTHONPATH."""
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    others = [path for path in paths if path and path != str(PROCESSES)]
    guarded = {"PYTHONPATH": os.pathsep.join([str(PROCESSES), *others])}
    if RECORD in os.environ:
        guarded[RECORD] = os.environ[RECORD]
    return {**environment, **guarded}


def take_attempts() -> list[str]:
    """Return the attempts since the last call, one line each, and forget them."""
    record = os.environ[RECORD]
    with open(record, encoding="utf-8") as file:
        file.seek(_taken[0])
        found = file.read().splitlines()
        _taken[0] = file.tell()
    return found


def list_own_addresses() -> list[str]:
    """Return the IPv4 addresses of the network interfaces of this machine."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(any_socket, GET_ADDRESS, request)
            except OSError:  # an interface without an address
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return found


def is_local(host: object) -> bool:
    """Return whether a name or an address is this machine, without asking for it."""
    if host is None:
        return True
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    name = name.strip("[]").partition("%")[0]
    if name in LOCAL_NAMES or name in _own_addresses:
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def is_address(host: object) -> bool:
    """Return whether a host is a numeric address, which `getaddrinfo` looks up nowhere."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        ipaddress.ip_address(name.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def _refuse_other_hosts(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in CONNECTIONS:
        made, address = arguments
        if made.family not in FAMILIES or not isinstance(address, tuple) or is_local(address[0]):
            return
        _refuse(event, address[:2])
    if event in LOOKUPS:
        host = arguments[0]
        if event == "socket.getnameinfo":
            host = host[0]
        if is_local(host) or (event not in REVERSE and is_address(host)):
            return
        _refuse(event, host)


def _refuse(event: str, target: object) -> None:
    process = " ".join(sys.orig_argv)[:200].replace("\n", " ")
    line = f"{event} {target!r} in {os.environ.get('PYTEST_CURRENT_TEST')} by {process}"
    record = os.environ.get(RECORD)
    if record:
        # One write of a short line at the end of a file is atomic.
        descriptor = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{line}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
    raise NetworkRefusedError(f"the network guard of the tests refused {event} {target!r}")
