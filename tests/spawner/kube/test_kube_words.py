"""What a pod and its events come to in words and in proof, case by case, without an API."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Liveness, pod_liveness
from spawner.kube_answers import message_of, refusal
from spawner.kube_causes import eviction_words, pull_cause, setup_words, unschedulable_words
from spawner.kube_life import exit_code_of, server_over
from spawner.kube_news import news, where
from spawner.kube_patience import Limits, Patience
from spawner.kube_trouble import Trouble, Urgency, trouble_of

Json = dict[str, Any]
TAINTED = (
    "0/5 nodes are available: 2 node(s) had untolerated taint {team: vision}, 3 node(s) didn't "
    "match Pod's node affinity/selector. preemption: 0/5 nodes are available: 5 No victims."
)
LIMITS = Limits(scheduling=10, pulling=100, starting=20, scaling=60, trouble=5, whole=150)


def pod(phase: str = "Running", *, node: str | None = "n1", **status: Any) -> Json:
    spec = {} if node is None else {"nodeName": node}
    return {"metadata": {"name": "p"}, "spec": spec, "status": {"phase": phase, **status}}


def container(state: Json, **more: Any) -> list[Json]:
    return [{"name": "notebook", "state": state, "ready": False, **more}]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb. no new claims",
            ["1 machine has too little nvidia.com/mig-1g.10gb left"],
        ),
        (
            TAINTED,
            ["2 machines have a taint (team: vision)", "3 have not the labels of the pool"],
        ),
        ("0/2 nodes are available: 2 node(s) were unschedulable.", ["2 are closed"]),
        ("0/2 nodes are available: 2 Too many pods.", ["2 are full"]),
        (
            'persistentvolumeclaim "imagenet" not found. not found',
            ['persistentvolumeclaim "imagenet" not found'],
        ),
        ("0/0 nodes are available", ["it has no machines at all"]),
        ("", ["it does not say why"]),
    ],
)
def test_what_the_scheduler_says_is_counted_machine_by_machine(
    message: str, words: list[str]
) -> None:
    said = unschedulable_words(message)
    for one in words:
        assert one in said
    assert "preemption" not in said
    assert said.endswith("administrator.")


@pytest.mark.parametrize(
    ("said", "words", "final"),
    [
        ('rpc error: code = NotFound desc = failed: "x": not found', "no such image", True),
        ("pull access denied, repository does not exist or may require", "not give it", True),
        ("no basic auth credentials", "not give it", True),
        ("InvalidImageName", "no name of an image", True),
        ("write /var/lib: no space left on device", "disk is full", False),
        ("toomanyrequests: rate limit", "later", False),
        ("dial tcp 10.0.0.1:443: i/o timeout", "does not answer", False),
    ],
)
def test_why_an_image_does_not_come(said: str, words: str, final: bool) -> None:
    cause = pull_cause(said)
    assert words in cause.words
    assert cause.final is final


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('secret "registry" not found', "is not in its namespace"),
        ("Multi-Attach error for volume", "still mounted on another machine"),
        ('no runtime for "nvidia" is configured', "does not know the RuntimeClass"),
        ("container has runAsNonRoot and image will run as root", "a numeric USER"),
        ("something new", "something new"),
    ],
)
def test_why_a_machine_cannot_set_it_up(said: str, words: str) -> None:
    assert words in setup_words(said)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("The node was low on resource: memory. Threshold quantity: 100Mi", "too little memory"),
        ('Usage of EmptyDir volume "s" exceeds the limit "10Gi".', "more local disk"),
        ("The node was low on resource: ephemeral-storage.", "more local disk"),
        ("Pod ephemeral local storage usage exceeds the total limit", "more local disk"),
        ("The node had condition: [PIDPressure].", "PIDPressure"),
    ],
)
def test_why_a_machine_puts_it_out(said: str, words: str) -> None:
    assert words in eviction_words(said)


@pytest.mark.parametrize(
    ("seen", "liveness"),
    [
        (None, Liveness.gone),
        (pod("Pending", node=None), Liveness.alive),
        (pod(), Liveness.alive),
        (pod("Succeeded"), Liveness.gone),
        (pod("Failed", reason="Evicted"), Liveness.gone),
        # Written by controllers, not by the machine: its program may still run.
        (pod("Failed", reason="NodeLost"), Liveness.unknown),
        (pod("Unknown"), Liveness.unknown),
        (
            pod(
                "Failed",
                conditions=[
                    {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}
                ],
            ),
            Liveness.unknown,
        ),
    ],
)
def test_only_the_machine_itself_proves_an_end(seen: Json | None, liveness: Liveness) -> None:
    assert pod_liveness(seen) is liveness


def test_a_program_that_will_be_started_again_is_not_over() -> None:
    failed = pod(containerStatuses=container({"terminated": {"exitCode": 3}}))
    assert not server_over(failed)
    assert exit_code_of(failed) == 3
    clean = pod(containerStatuses=container({"terminated": {"exitCode": 0}}))
    assert server_over(clean)
    failed["metadata"]["deletionTimestamp"] = "2026-12-01T00:00:00Z"
    assert server_over(failed)


def test_a_healthy_pod_has_no_trouble() -> None:
    running = {"running": {"startedAt": "2026-12-01T00:00:00Z"}}
    healthy = pod(containerStatuses=container(running, started=True))
    assert trouble_of(healthy) is None
    assert trouble_of(pod("Pending", node=None)) is None
    assert news(healthy, (), set()) == []


def test_where_a_start_stands() -> None:
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    assert where(None) == "scheduling"
    assert where(pod("Pending", node=None)) == "scheduling"
    assert where(pod("Pending", containerStatuses=container(waiting))) == "pulling"
    assert where(pod(containerStatuses=container({"running": {"startedAt": "x"}}))) == ("starting")


def test_each_phase_has_its_own_time() -> None:
    patience = Patience(LIMITS, 0)
    assert patience.judge("scheduling", None, 9) is None
    assert patience.judge("pulling", None, 11) is None
    assert patience.judge("pulling", None, 110) is None
    found = patience.judge("pulling", None, 111)
    assert found is not None
    assert (found.code, found.urgency) == ("pulling-too-long", Urgency.end)
    assert "100 s" in found.words


def test_a_trouble_that_may_pass_is_borne_for_a_while_and_starts_anew_when_it_changes() -> None:
    patience = Patience(LIMITS, 0)
    first, other = (Trouble(code, code, Urgency.soon) for code in ("image-pull", "not-set-up"))
    assert patience.judge("pulling", first, 1) is None
    assert patience.judge("pulling", first, 5) is None
    assert patience.judge("pulling", other, 6) is None
    assert patience.judge("pulling", None, 9) is None
    assert patience.judge("pulling", other, 10) is None
    assert patience.judge("pulling", other, 15) == other


def test_a_cluster_that_scales_up_has_longer_and_the_whole_has_an_end() -> None:
    patience = Patience(LIMITS, 0)
    assert patience.judge("scheduling", None, 50, scaling=True) is None
    assert patience.judge("scheduling", None, 60, scaling=True) is not None
    patience = Patience(LIMITS, 0)
    assert patience.judge("pulling", None, 90) is None
    assert patience.judge("pulling", None, 150) is not None


class Answer(Exception):  # noqa: N818 - stands for the client's own exception
    """An answer of the API, as its client raises it."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status, self.body, self.reason = status, body, "Reason"


@given(st.integers(400, 599), st.text())
def test_whatever_the_api_answers_is_a_refusal_below_500(status: int, body: str) -> None:
    told = refusal(Answer(status, body), "gpu-atlas")
    assert 400 <= told.status < 500
    assert told.message


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    )
)
def test_an_answer_without_a_sentence_still_has_words(body: object) -> None:
    assert message_of(Answer(500, str(body))) == "Reason"
