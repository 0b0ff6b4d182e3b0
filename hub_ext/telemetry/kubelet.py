"""Asks the kubelet of this node which container holds which GPU, by its pod-resources socket.

The device plugin chooses devices there, so nobody else knows. It reads; it can change nothing.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from ..errors import UnreachableError
from ..i18n import _
from ..lease import DeviceHolding, DeviceId

SOCKET = Path("/var/lib/kubelet/pod-resources/kubelet.sock")
METHOD = "/v1.PodResourcesLister/List"
ANSWER_S = 5.0

_VENDOR = "nvidia.com/"
_TEXT, _MESSAGE = 9, 11
_ONE, _MANY = 1, 3


class _Field(NamedTuple):
    """One field of a message: its name and number, and of what it holds several."""

    name: str
    number: int
    many: bool = False
    of: str = ""


_MESSAGES: dict[str, tuple[_Field, ...]] = {
    "ListPodResourcesRequest": (),
    "ListPodResourcesResponse": (_Field("pod_resources", 1, many=True, of="PodResources"),),
    "PodResources": (
        _Field("name", 1),
        _Field("namespace", 2),
        _Field("containers", 3, many=True, of="ContainerResources"),
    ),
    "ContainerResources": (
        _Field("name", 1),
        _Field("devices", 2, many=True, of="ContainerDevices"),
    ),
    "ContainerDevices": (_Field("resource_name", 1), _Field("device_ids", 2, many=True)),
}
"""What of the kubelet's API (package `v1`) is read; what else is in an answer is left alone."""


@cache
def messages() -> dict[str, Any]:
    """Make the classes of the messages, in a pool of their own."""
    file = descriptor_pb2.FileDescriptorProto(
        name="gpu-commons/podresources.proto", package="v1", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        made = file.message_type.add(name=name)
        for one in fields:
            field = made.field.add(
                name=one.name,
                number=one.number,
                label=_MANY if one.many else _ONE,
                type=_MESSAGE if one.of else _TEXT,
            )
            if one.of:
                field.type_name = f".v1.{one.of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"v1.{name}"))
        for name in _MESSAGES
    }


class Kubelet:
    """The kubelet of this node.

    Parameters
    ----------
    socket
        Its pod-resources socket.
    """

    def __init__(self, socket: Path = SOCKET) -> None:
        self._socket = socket
        self._channel: grpc.Channel | None = None

    def holdings(self) -> tuple[DeviceHolding, ...]:
        """List GPUs and MIG devices that containers hold now; blocks for seconds at most.

        Raises
        ------
        UnreachableError
            When the kubelet does not answer; what was held before is then unknown.
        """
        known = messages()
        try:
            # Waiting for a socket that is not there would take all the time there is.
            if not self._socket.is_socket():
                raise UnreachableError(
                    _("there is no socket {path}; is it mounted into the agent?").format(
                        path=self._socket
                    )
                )
            answer = self._call(known)
        except grpc.RpcError as error:
            self.close()
            words = _("the kubelet does not tell who holds GPUs: {why}")
            raise UnreachableError(words.format(why=_words(error))) from error
        except OSError as error:
            raise UnreachableError(f"{self._socket}: {error.strerror}") from error
        return tuple(sorted(_holdings(answer), key=lambda one: (one.device, one.pod)))

    def close(self) -> None:
        """Let go of the connection; the next call makes another."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _call(self, known: dict[str, Any]) -> Any:  # noqa: ANN401 - a message made at run time
        if self._channel is None:
            # Through no proxy: it is a socket of this machine.
            options = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", 1 << 24)]
            self._channel = grpc.insecure_channel(f"unix:{self._socket}", options=options)
        ask = self._channel.unary_unary(
            METHOD,
            request_serializer=known["ListPodResourcesRequest"].SerializeToString,
            response_deserializer=known["ListPodResourcesResponse"].FromString,
        )
        return ask(known["ListPodResourcesRequest"](), timeout=ANSWER_S)


def _holdings(answer: Any) -> Iterator[DeviceHolding]:  # noqa: ANN401 - a message made at run time
    for holder in answer.pod_resources:
        for container in holder.containers:
            for devices in container.devices:
                if not devices.resource_name.startswith(_VENDOR):
                    continue
                for device in devices.device_ids:
                    yield DeviceHolding(
                        namespace=holder.namespace,
                        pod=holder.name,
                        # A time-share is `GPU-…::3`; older plugins write `GPU-…-3` for it, which
                        # then matches no device and stays unknown.
                        device=DeviceId(device),
                    )


def _words(error: grpc.RpcError) -> str:
    code, details = getattr(error, "code", None), getattr(error, "details", None)
    told = details() if callable(details) else ""
    return f"{code().name if callable(code) else type(error).__name__} {told}".strip()
