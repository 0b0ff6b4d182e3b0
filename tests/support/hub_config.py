"""Configuration of a test's hub: ports of loopback, people without passwords, files in one folder.

What a story adds comes last, as `configure()` wants it.
"""

CONFIG = """
import json, os
c = get_config()
ports = {ports!r}
c.JupyterHub.bind_url = f"http://127.0.0.1:{{ports['public']}}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{{ports['hub']}}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{{ports['proxy']}}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.ConfigurableHTTPProxy.pid_file = {folder!r} + "/proxy.pid"
c.JupyterHub.db_url = "sqlite:///" + {folder!r} + "/hub.sqlite"
c.JupyterHub.cookie_secret_file = {folder!r} + "/cookie_secret"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.Authenticator.admin_users = {{"admin"}}
c.JupyterHub.load_groups = {groups!r}
c.JupyterHub.allow_named_servers = True
c.JupyterHub.authenticate_prometheus = False
c.JupyterHub.cleanup_servers = True
c.JupyterHub.services = [{{"name": "harness", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [{{"name": "harness", "services": ["harness"], "scopes": [
    "admin:users", "admin:servers", "admin:groups", "tokens", "read:hub", "list:services",
    "read:services", "shutdown", "access:services"]}}]
c.Spawner.poll_interval = 2
c.Spawner.start_timeout = 60
c.Spawner.http_timeout = 60
c.Spawner.default_url = "/lab"
if os.geteuid() == 0:
    c.Spawner.args = ["--allow-root"]
{tiny}
{extra}
"""
