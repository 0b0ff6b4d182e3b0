"""The way to a Prometheus: with its token, and silent where the answer cannot be believed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.errors import UnreachableError
from hub_ext.telemetry.prometheus import PrometheusReader, Where, answer
from tests.support.fake_prometheus import FakePrometheus, gpu, prometheus

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[FakePrometheus]:
    with prometheus(NOW) as running:
        running.tell(gpu("GPU-a", "node-2", "jupyter-vera"), util=40)
        yield running


def read(server: FakePrometheus, token: Path | None = None) -> list[int | None]:
    reader = PrometheusReader(Where(server.url, token_file=token), 30.0)
    made = reader.batches({}, NOW, None)
    return [one.util_percent for batch in made for one in batch.devices]


def test_what_it_knows_becomes_a_batch(server: FakePrometheus) -> None:
    assert read(server) == [40]
    assert "timestamp(" in "".join(server.asked)


def test_it_is_shown_the_token_of_the_file_as_it_is_now(
    server: FakePrometheus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.token, file = "s3cret", tmp_path / "token"
    assert read(server) == []
    assert "answers 401: who are you" in caplog.text
    file.write_text("s3cret\n")
    assert read(server, file) == [40]
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    "body",
    [
        b"<html>no</html>",
        b"{}",
        b'{"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}',
        b'{"status": "success", "data": {"result": [{"metric": {}, "value": [1]}]}}',
        b'{"status": "success", "data": {"result": [{"metric": {}, "value": ["x", "1"]}]}}',
    ],
)
def test_an_answer_that_is_none_gives_nothing(server: FakePrometheus, body: bytes) -> None:
    server.broken = body
    assert read(server) == []
    with pytest.raises(UnreachableError):
        answer(body)


def test_no_number_is_no_figure() -> None:
    found, _at = answer(
        b'{"status": "success", "data": {"result": '
        b'[{"metric": {"a": "b"}, "value": [1, "NaN"]}, {"metric": {}, "value": [1, "+Inf"]}]}}'
    )
    assert found == ()


def test_while_it_is_away_nothing_is_told_and_it_is_said_once(
    server: FakePrometheus, caplog: pytest.LogCaptureFixture
) -> None:
    server.status = 503
    reader = PrometheusReader(Where(server.url), 30.0)
    assert [reader.batches({}, NOW, None) for _ in range(3)] == [[], [], []]
    assert caplog.text.count("answers 503") == 1
    server.status = 200
    assert len(reader.batches({}, NOW, None)) == 1


def test_the_command_asks_for_the_prometheus_that_was_not_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "0" * 64)
    assert main(["agent", "--url", "http://127.0.0.1:1", "--devices", "prometheus"]) == 1
    assert "--prometheus" in capsys.readouterr().err
