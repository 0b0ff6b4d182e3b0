"""The smallest governed JupyterHub: this machine, one policy file, four people.

`make demo` runs it as it stands. For a hub of your own, copy it and change what is marked (1) to
(3); everything else is JupyterHub's usual configuration.
"""

import os
import shutil
from pathlib import Path

from hub_ext.configure import configure
from hub_ext.statedir import StateDir

c = get_config()
here = Path(__file__).parent
state = StateDir(Path(os.environ.get("GPU_COMMONS_STATE", "gpu-commons")))

# (1) Who may log in. Everybody here has one password, admins another, kept in the state
# directory; use your own authenticator instead.
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = state.token("people")[:12]
c.SharedPasswordAuthenticator.admin_password = state.token("admins")[:32]
c.Authenticator.allowed_users = {"scientist-1", "scientist-2", "lead"}
c.Authenticator.admin_users = {"admin"}

# (2) Who belongs to which team: the policy names these groups.
c.JupyterHub.load_groups = {
    "vision": {"users": ["scientist-1", "lead"]},
    "language": {"users": ["scientist-2"]},
    "robotics": {"users": ["admin"]},
}

# Everything listens on this machine alone and keeps its files in the state directory.
c.JupyterHub.bind_url = f"http://127.0.0.1:{state.port('public')}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{state.port('hub')}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{state.port('proxy')}"
local_proxy = here.parent / "node_modules/.bin/configurable-http-proxy"
proxy = shutil.which("configurable-http-proxy") or str(local_proxy)
c.ConfigurableHTTPProxy.command = [proxy]
hub_files = state.path / "hub"
hub_files.mkdir(mode=0o700, exist_ok=True)
c.ConfigurableHTTPProxy.pid_file = str(hub_files / "proxy.pid")
c.JupyterHub.db_url = f"sqlite:///{hub_files / 'hub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(hub_files / "cookie_secret")

c.JupyterHub.allow_named_servers = True
c.Spawner.default_url = "/lab"
c.Spawner.poll_interval = 10
if os.geteuid() == 0:
    # Servers refuse to run as root unless told; with people of their own accounts, see
    # `GovernedLocalSpawner.os_users`.
    c.Spawner.args = ["--allow-root"]

# (3) The rules, and where GPUs come from: "auto" takes NVML where there is a driver, and else
# the simulated node that the policy describes.
configure(
    c,
    policy=os.environ.get("GPU_COMMONS_POLICY", here / "policy.yaml"),
    state=state.path,
    devices=os.environ.get("GPU_COMMONS_DEVICES", "auto"),
)
