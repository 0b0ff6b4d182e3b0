"""Governed servers as processes of this machine, from the environments that projects pin.

What it cannot enforce it says on the form: the device is chosen by variables alone.
"""

import asyncio
import os
import pwd
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

from jupyterhub.spawner import LocalProcessSpawner
from traitlets import Enum, Float, Unicode

from hub_ext.errors import RefusedError
from hub_ext.i18n import _
from hub_ext.lease import AttemptId, Environment, Liveness, ProcessRef

from .governed import GovernedMixin
from .limits import Cgroup, join
from .process import end_left_behind, liveness, process_ref
from .refusal import SpawnRefusal
from .terms import Terms
from .workspace import make_workspace, workspace_path

_TERMINALS = "ServerApp.terminado_settings"
_OF_THE_HUB = ("PYTHONPATH", "PYTHONHOME", "CONDA_DEFAULT_ENV", "CONDA_ROOT", "CONDA_PREFIX")
"""Variables that would mix the hub's own packages into a pinned environment."""


class GovernedLocalSpawner(GovernedMixin, LocalProcessSpawner):
    """Starts each server as a local process under the terms that the governor granted."""

    os_users = Enum(
        ["shared", "system"],
        default_value="shared",
        help="Whose processes servers are. `shared`: all run as the hub's own operating-system "
        "user, each in its own workspace below the state directory; they are not isolated from "
        "each other, nor from the hub's own keys. `system`: each as the operating-system user of "
        "the same name, in that user's home; the hub then runs as root and the users exist.",
    ).tag(config=True)
    cgroup = Unicode(
        help="Directory of a cgroup v2 that is delegated to the hub. Each server then gets its "
        "own group below it with the CPU and memory of its profile. Empty: not enforced."
    ).tag(config=True)
    left_behind_timeout = Float(
        5.0,
        help="Seconds that processes left behind by an ended server get to end by themselves.",
    ).tag(config=True)

    cmd: list[str]
    pid: int
    site_cmd: list[str] | None = None
    environment_prefix: Path | None = None
    group: Path | None = None

    # -- what is said on the form -----------------------------------------------------------

    def cautions(self) -> tuple[str, ...]:
        """Say what a local process cannot enforce."""
        told = []
        if self.os_users == "shared":
            told.append(
                _(
                    "All servers of this hub share one operating-system user, so they are not "
                    "isolated: each can read the files and end the processes of the others, and "
                    "can read the keys with which the GPUs are administered. The variables that "
                    "name your GPU are a hint, not a barrier."
                )
            )
        else:
            told.append(
                _(
                    "Your server runs as your own operating-system user. The variables that name "
                    "your GPU are a hint, not a barrier: other GPUs of the machine stay visible "
                    "to a program that looks for them."
                )
            )
        if self._cgroup() is None:
            told.append(
                _(
                    "CPU and memory are what you are expected to keep to; this machine does not "
                    "enforce them."
                )
            )
        return tuple(told)

    # -- start ------------------------------------------------------------------------------

    def apply_terms(self, terms: Terms) -> None:
        """Prepare workspace, environment and limits for the terms."""
        super().apply_terms(terms)
        if self.site_cmd is None:
            self.site_cmd = list(self.cmd)
        # From the site's own each time, so that nothing of an earlier attempt stays.
        self.environment_prefix = None
        self.cmd = list(self.site_cmd)
        if terms.environment is not None and terms.environment.prefix is not None:
            self.environment_prefix = Path(terms.environment.prefix)
            self.cmd = _single_user(terms.environment, self.environment_prefix)
        if self.os_users == "system":
            _existing_user(self.user.name)
        elif self.state_path is not None:
            _prepare(self.state_path, self.user.name, self.name, simulated=terms.simulated)
        self.group = self._limited(terms)

    async def launch(self) -> Any:  # noqa: ANN401 - as the hub's own spawner
        """Start; what this machine cannot start is a refusal and no fault of the hub."""
        try:
            return await super().launch()
        except (OSError, SubprocessError, ValueError) as error:
            # ValueError: a name with a NUL fits into no variable of an environment.
            self.log.exception("The server of %s could not be started", self._log_name)
            raise _cannot_start(f"{type(error).__name__}: {error}") from error

    def get_args(self) -> list[str]:
        """Arguments of the server; as root it insists on being told that this is meant."""
        args: list[str] = list(super().get_args())
        if self.environment_prefix is not None and not any(_TERMINALS in one for one in args):
            # A login shell, which is the default, would put the system's PATH before ours.
            args.append(f"--{_TERMINALS}=shell_command={self._shell()}")
        root = os.geteuid() == 0 and self.os_users == "shared"
        return [*args, "--allow-root"] if root and "--allow-root" not in args else args

    def _shell(self) -> str:
        own = pwd.getpwnam(self.user.name).pw_shell if self.os_users == "system" else ""
        return own or shutil.which("bash") or "/bin/sh"

    def get_env(self) -> dict[str, str]:
        """Environment of the server, without what would mix two Python environments."""
        env = super().get_env()
        prefix = self.environment_prefix
        if prefix is None:
            return env
        env = {name: value for name, value in env.items() if name not in _OF_THE_HUB}
        path = env.get("PATH", os.defpath)
        return {**env, "VIRTUAL_ENV": str(prefix), "PATH": f"{prefix / 'bin'}{os.pathsep}{path}"}

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        """Person and home of the server."""
        if self.os_users == "system":
            of_system: dict[str, str] = super().user_env(env)
            return of_system
        env["USER"] = self.user.name
        env["SHELL"] = self._shell()
        if self.state_path is not None:
            env["HOME"] = str(self._workspace())
        return env

    def make_preexec_fn(self, name: str) -> Callable[[], None]:
        """What the child does between fork and exec: limits, then user, then directory."""
        become = super().make_preexec_fn(name) if self.os_users == "system" else None
        home = self._workspace() if become is None else None
        group = self.group

        def prepare() -> None:
            if group is not None:
                join(group)
            if become is not None:
                become()
            if home is not None:
                os.chdir(home)

        return prepare

    async def move_certs(self, paths: Mapping[str, str]) -> Mapping[str, str]:
        """Hand certificates to the server's user, where it is another than the hub's."""
        if self.os_users == "shared":
            return paths
        moved: Mapping[str, str] = await super().move_certs(paths)
        return moved

    async def rename(self, old_name: str, new_name: str) -> None:
        """Take the workspace along when a server gets another name."""
        await super().rename(old_name, new_name)
        if self.os_users == "system" or self.state_path is None:
            return
        old, new = (
            workspace_path(self.state_path, self.user.name, name) for name in (old_name, new_name)
        )
        if new.exists():
            raise SpawnRefusal(
                RefusedError(
                    "workspace-exists",
                    _(
                        "Files of an earlier server named {name} are still there. Choose another "
                        "name, or ask an administrator to put them away."
                    ).format(name=new_name),
                )
            )
        if old.exists():
            old.rename(new)

    # -- the process behind the server --------------------------------------------------------

    def server_process(self) -> ProcessRef | None:
        """Process that was just started."""
        return process_ref(self.pid) if self.pid else None

    async def former_liveness(self) -> Liveness:
        """Whether the process of an earlier server lives, by pid and birth."""
        if self.former is None or self.former.process is None:
            return Liveness.gone
        return liveness(self.former.process)

    async def liveness(self) -> Liveness:
        """Alive too while something that the server left behind lives and may hold its GPU."""
        now = await super().liveness()
        if now is not Liveness.gone or self.trace is None or not self.trace.launched:
            return now
        gone = await self._end_left_behind(self.trace.attempt_id)
        return Liveness.gone if gone else Liveness.alive

    async def exit_code(self) -> int | None:
        """Known only of a process that this hub started; after a restart, none."""
        return await self.poll() if self.proc is not None else None

    async def poll(self) -> int | None:
        """Poll by pid and birth: after a hub restart a pid may be another process's."""
        if self.proc is None and self.pid:
            match self._known_liveness():
                case Liveness.gone:
                    self.pid = 0
                case Liveness.unknown:
                    return None
                case Liveness.alive:
                    pass
        return await super().poll()

    def _known_liveness(self) -> Liveness:
        """Whether the process under the remembered pid is the one that was started."""
        for trace in (self.trace, self.former):
            if trace is not None and trace.process is not None and trace.process.pid == self.pid:
                return liveness(trace.process)
        # State of a time before this spawner was configured: the pid is all there is.
        return Liveness.alive

    async def stop(self, now: bool = False) -> None:  # noqa: FBT001, FBT002 - the hub's signature
        """Stop the server, then what it left behind."""
        traces = (self.trace, self.former)
        await super().stop(now=now)
        for trace in traces:
            if trace is not None and trace.launched:
                await self._end_left_behind(trace.attempt_id)

    async def _signal(self, sig: int) -> bool:
        # os.kill(0) would signal the hub and all its children.
        return bool(self.pid > 0 and await super()._signal(sig))

    def clear_state(self) -> None:
        """Drop the attempt; a process that still lives stays known, so that it can be stopped."""
        super().clear_state()
        process = self.former.process if self.former is not None else None
        if process is not None and liveness(process) is not Liveness.gone:
            self.pid = process.pid
        else:
            self.former = None

    async def _end_left_behind(self, attempt_id: AttemptId) -> bool:
        gone = await asyncio.to_thread(
            end_left_behind, attempt_id, grace_s=self.left_behind_timeout
        )
        if not gone:
            self.log.error("Processes of %s outlived every signal", self._log_name)
        elif (cgroup := self._cgroup()) is not None:
            cgroup.remove(attempt_id)
        return gone

    # -- machine --------------------------------------------------------------------------------

    def _workspace(self) -> Path | None:
        if self.state_path is None:
            return None
        return workspace_path(self.state_path, self.user.name, self.name)

    def _cgroup(self) -> Cgroup | None:
        if not self.cgroup:
            return None
        cgroup = Cgroup(Path(self.cgroup))
        return cgroup if cgroup.usable() else None

    def _limited(self, terms: Terms) -> Path | None:
        cgroup = self._cgroup()
        if cgroup is None:
            return None
        try:
            return cgroup.make(terms.attempt_id, terms.cpu_millis, terms.memory_bytes)
        except OSError as error:
            raise _cannot_start(
                _("its limits could not be set: {error}").format(error=error)
            ) from error


def _single_user(environment: Environment, prefix: Path) -> list[str]:
    """Command that runs a single-user server out of a pinned environment."""
    script = prefix / "bin" / "jupyterhub-singleuser"
    if os.access(script, os.X_OK):
        return [str(script)]
    python = prefix / "bin" / "python"
    if os.access(python, os.X_OK):
        return [str(python), "-m", "jupyterhub.singleuser"]
    raise RefusedError(
        "environment-unusable",
        _(
            "The environment {name} of your project is not there: {prefix} holds no Python. "
            "Ask an administrator to restore it, or choose another project."
        ).format(name=environment.name, prefix=prefix),
    )


def _existing_user(name: str) -> None:
    try:
        found = pwd.getpwnam(name)
    except (KeyError, ValueError):
        raise RefusedError(
            "no-system-user",
            _(
                "This machine has no operating-system user {name}, whom your server would run as. "
                "Ask an administrator to create it."
            ).format(name=ascii(name)),
        ) from None
    if found.pw_uid == 0:
        # A sign-in elsewhere makes nobody root of this machine, whatever they call themselves.
        raise RefusedError(
            "no-system-user",
            _(
                "No server runs as the operating-system user {name}, who may do everything on "
                "this machine. Sign in under a name of your own."
            ).format(name=ascii(name)),
        )


def _prepare(state: Path, user: str, server: str, *, simulated: bool) -> None:
    """Make the directories of a server. Its person may have put anything in their place."""
    try:
        make_workspace(state, user, server)
        if simulated:
            (state / "sim").mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(
            "workspace-unusable",
            _(
                "The workspace of this server cannot be used: {why}. If a file or a link of yours "
                "stands in its place, take that away; otherwise ask an administrator."
            ).format(why=error.strerror or type(error).__name__),
        ) from error


def _cannot_start(why: str) -> RefusedError:
    return RefusedError(
        "cannot-start",
        _(
            "The server could not be started on this machine ({why}). Nothing is charged. Tell an "
            "administrator; the hub's log file has more."
        ).format(why=why),
    )
