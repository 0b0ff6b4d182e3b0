"""A kubelet's pod-resources service on a socket, as a real gRPC server."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import grpc

from hub_ext.telemetry.kubelet import METHOD, messages


class KubeletSocket(AbstractContextManager["KubeletSocket"]):
    """Who holds what, by (namespace, name): resource name and device ids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}
        self.refuses = False
        self._server = grpc.server(ThreadPoolExecutor(max_workers=2))
        service, method = METHOD.strip("/").split("/")
        handler = grpc.unary_unary_rpc_method_handler(
            self._list,
            request_deserializer=messages()["ListPodResourcesRequest"].FromString,
            response_serializer=messages()["ListPodResourcesResponse"].SerializeToString,
        )
        handlers = grpc.method_handlers_generic_handler(service, {method: handler})
        self._server.add_generic_rpc_handlers((handlers,))
        self._server.add_insecure_port(f"unix:{path}")

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.stop(grace=None).wait()

    def _list(self, _request: Any, context: Any) -> Any:
        if self.refuses:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")
        answer = messages()["ListPodResourcesResponse"]()
        for (namespace, name), (resource, devices) in tuple(self.held.items()):
            holder = answer.pod_resources.add(name=name, namespace=namespace)
            container = holder.containers.add(name="notebook")
            container.devices.add(resource_name=resource, device_ids=devices)
        return answer
