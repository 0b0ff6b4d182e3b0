"""What stands for Pod Security where it had to be opened for one capability.

No level of Pod Security lets IPC_LOCK in and refuses the rest, so this refuses the rest.
"""

__all__ = ["fabric_rules"]

_PARTS = ("containers", "initContainers", "ephemeralContainers")
_ADDS_NOTHING = (
    "!has(c.securityContext) || !has(c.securityContext.capabilities) || "
    "!has(c.securityContext.capabilities.add)"
)
_VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
"""Kinds of volumes that `restricted` lets in."""
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
"""Where a pod asked for a profile before there was a field for it; still obeyed."""
_CALLS = (
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle.postStart",
    "lifecycle.preStop",
)


def fabric_rules(lease: str) -> dict[str, str]:
    """Give words and expressions of the policy; `lease` tells whether a pod is a leased server."""
    every = {
        "a server may lock memory in place here, and nothing else beyond `restricted`: "
        "take away privileged, privilege escalation and capabilities": _all(
            "has(c.securityContext) && "
            "(!has(c.securityContext.privileged) || !c.securityContext.privileged) && "
            "has(c.securityContext.allowPrivilegeEscalation) && "
            "!c.securityContext.allowPrivilegeEscalation && "
            "has(c.securityContext.capabilities) && has(c.securityContext.capabilities.drop) && "
            "'ALL' in c.securityContext.capabilities.drop"
        ),
        "only a server that holds a lease locks memory in place; take the capability away": (
            _parts(
                ("containers",),
                f"{_ADDS_NOTHING} || "
                f"(({lease}) && c.securityContext.capabilities.add.all(a, a == 'IPC_LOCK'))",
            )
            + " && "
            + _parts(_PARTS[1:], _ADDS_NOTHING)
        ),
        "no container runs as root here; set runAsNonRoot, and no uid 0": (
            "has(object.spec.securityContext) && "
            "has(object.spec.securityContext.runAsNonRoot) && "
            "object.spec.securityContext.runAsNonRoot && "
            "(!has(object.spec.securityContext.runAsUser) || "
            "object.spec.securityContext.runAsUser != 0) && "
            + _all(
                "!has(c.securityContext) || ("
                "(!has(c.securityContext.runAsUser) || c.securityContext.runAsUser != 0) && "
                "(!has(c.securityContext.runAsNonRoot) || c.securityContext.runAsNonRoot))"
            )
        ),
        "a pod keeps out of its machine here: no network, processes or memory of the host": (
            " && ".join(
                f"(!has(object.spec.{one}) || !object.spec.{one})"
                for one in ("hostNetwork", "hostPID", "hostIPC")
            )
            + " && "
            + _all("!has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0)")
        ),
        "a pod has claims, secrets and scratch here, and nothing of its machine; "
        "use a claim instead": (
            "!has(object.spec.volumes) || object.spec.volumes.all(v, "
            + " || ".join(f"has(v.{one})" for one in _VOLUMES)
            + ")"
        ),
        "a pod keeps the runtime's own filter of system calls; set RuntimeDefault": (
            "has(object.spec.securityContext) && "
            "has(object.spec.securityContext.seccompProfile) && "
            "object.spec.securityContext.seccompProfile.type in ['RuntimeDefault', 'Localhost'] && "
            + _all(
                "!has(c.securityContext) || !has(c.securityContext.seccompProfile) || "
                "c.securityContext.seccompProfile.type in ['RuntimeDefault', 'Localhost']"
            )
        ),
        **_machine_rules(),
    }
    return {words: f"({one})" for words, one in every.items()}


def _machine_rules() -> dict[str, str]:
    """Refuse what few pods ever name: confinement, kernel settings, calls from the machine."""
    notes = "object.metadata.annotations"
    return {
        "a pod keeps the runtime's own AppArmor and SELinux confinement; take the options away": (
            _contexts(
                "(!has({x}.appArmorProfile) || "
                "{x}.appArmorProfile.type in ['RuntimeDefault', 'Localhost']) && "
                "(!has({x}.seLinuxOptions) || ("
                "(!has({x}.seLinuxOptions.user) || {x}.seLinuxOptions.user == '') && "
                "(!has({x}.seLinuxOptions.role) || {x}.seLinuxOptions.role == '') && "
                "(!has({x}.seLinuxOptions.type) || {x}.seLinuxOptions.type in {types})))"
            ).replace("{types}", str(list(_SELINUX)))
            + f" && (!has({notes}) || {notes}.all(k, !k.startsWith('{_APPARMOR}') || "
            f"{notes}[k] == 'runtime/default' || {notes}[k].startsWith('localhost/')))"
        ),
        "a pod leaves its machine's kernel as it is; take sysctls, procMount, hostProcess away": (
            "(!has(object.spec.securityContext) || !has(object.spec.securityContext.sysctls) || "
            "object.spec.securityContext.sysctls.size() == 0) && "
            + _contexts(
                "(!has({x}.windowsOptions) || !has({x}.windowsOptions.hostProcess) || "
                "!{x}.windowsOptions.hostProcess)"
            )
            + " && "
            + _all(
                "!has(c.securityContext) || !has(c.securityContext.procMount) || "
                "c.securityContext.procMount == 'Default'"
            )
        ),
        "probes and hooks call their own pod alone; take `host` away": " && ".join(
            _all(_no_host(f"c.{call}.{way}")) for call in _CALLS for way in ("httpGet", "tcpSocket")
        ),
    }


def _no_host(call: str) -> str:
    """Say that a call names no host, where there is such a call at all."""
    parts = call.split(".")
    absent = [f"!has({'.'.join(parts[: end + 1])})" for end in range(1, len(parts))]
    return " || ".join([*absent, f"!has({call}.host)", f"{call}.host == ''"])


def _contexts(rule: str) -> str:
    """Say something of the pod's security context and of each container's; `{x}` is which."""
    pod, one = (
        rule.replace("{x}", at) for at in ("object.spec.securityContext", "c.securityContext")
    )
    return f"(!has(object.spec.securityContext) || ({pod})) && " + _all(
        f"!has(c.securityContext) || ({one})"
    )


def _all(rule: str) -> str:
    """Say something of each container of a pod, of whatever part."""
    return _parts(_PARTS, rule)


def _parts(parts: tuple[str, ...], rule: str) -> str:
    return " && ".join(
        f"(!has(object.spec.{part}) || object.spec.{part}.all(c, {rule}))" for part in parts
    )
