# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a real Slurm on the loopback of this machine: one controller, two nodes with a processor each."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from support.running.ports import free_port

__all__ = ("Slurm", "missing", "running")

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"

_CONF = """\
ClusterName=farm
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
KillWait=1
SlurmdTimeout=10
SchedulerParameters=sched_interval=1,batch_sched_delay=1,requeue_delay=1
NodeName=n1 NodeHostname={name} NodeAddr=127.0.0.1 Port={first} CPUs=1
NodeName=n2 NodeHostname={name} NodeAddr=127.0.0.1 Port={second} CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """A running Slurm: the folder of all its files, and its configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, folder / "slurm.conf"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start everything, and wait until both nodes are idle."""
        for name in ("state", "spool.n1", "spool.n2"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munge = pwd.getpwnam("munge")
        os.chown(key, munge.pw_uid, munge.pw_gid)
        os.chown(self.folder, munge.pw_uid, munge.pw_gid)
        self._begin(
            *("munged", "--foreground", f"--socket={self.folder}/munge.socket", f"--key-file={key}"),
            *(f"--{kind}-file={self.folder}/munged.{kind}" for kind in ("pid", "log", "seed")),
            user="munge",
        )
        ports = {which: free_port() for which in ("control", "first", "second")}
        self.config.write_text(
            _CONF.format(name=socket.gethostname().split(".")[0], folder=self.folder, **ports)
        )
        self._until(lambda: (self.folder / "munge.socket").exists(), "munged does not start")
        self._begin("slurmctld", "-D", "-f", str(self.config))
        self._until(lambda: "n1" in self.ask("sinfo", "-hN", "-o%N"), "slurmctld does not start")
        for node in ("n1", "n2"):
            self.start_node(node)
        self._until(
            lambda: self.ask("sinfo", "-hN", "-o%T").split() == ["idle", "idle"], "the nodes do not start"
        )

    def start_node(self, node: str) -> None:
        """Start a node, which has a name of its own on this machine."""
        self._begin("slurmd", "-D", "-f", str(self.config), "-N", node, called=node)

    def kill_node(self, node: str) -> None:
        """Kill a node at once."""
        self._processes[node].kill()
        self._processes.pop(node).wait()

    def ask(self, *command: str) -> str:
        """Return the output of one of Slurm's commands."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=30)
        return done.stdout

    def stop(self) -> None:
        """End everything."""
        self.ask("scancel", "--user=root")
        for process in reversed(self._processes.values()):
            process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": _PATH, "SLURM_CONF": str(self.config)}

    def _begin(self, *command: str, called: str = "", user: str | None = None) -> None:
        log = (self.folder / f"{called or command[0]}.printed").open("wb")
        with log:
            self._processes[called or command[0]] = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=subprocess.STDOUT, user=user
            )

    def _until(self, true: object, otherwise: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        assert callable(true)
        while not true():
            if time.monotonic() > end:
                told = "\n".join(
                    path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.printed")
                )
                raise AssertionError(f"{otherwise}: {told}")
            time.sleep(0.1)


def missing() -> str:
    """Return why there is no Slurm here; "" if there is."""
    if os.name != "posix" or os.geteuid() != 0:
        return "a Slurm of one's own needs root"
    lacking = [program for program in _PROGRAMS if shutil.which(program, path=_PATH) is None]
    return f"not installed: {', '.join(lacking)}" if lacking else ""


@contextlib.contextmanager
def running() -> Iterator[Slurm]:
    """Run a Slurm as long as the block lasts."""
    # Not below pytest's own folder, which other users, such as munged's, may not enter.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    slurm = Slurm(folder)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()
        shutil.rmtree(folder, ignore_errors=True)
