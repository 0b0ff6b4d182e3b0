"""Who a token stands for, told from the hub's model alone."""

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import ServerKey, ServerName, UserName
from hub_ext.service.basis.access import ADMIN, ASK, SAMPLES, Caller, caller_of


def model(*scopes: str, kind: str = "user", name: str = "vera", **more: object) -> Caller:
    return caller_of({"kind": kind, "name": name, "scopes": list(scopes), **more}, hub="hub")


def key(user: str, server: str = "") -> ServerKey:
    return ServerKey(hub="hub", user=UserName(user), server=ServerName(server))


def test_a_persons_token_is_a_person() -> None:
    caller = model("access:servers!user=vera", groups=["vision", "chess"])
    assert (caller.kind, caller.groups, caller.admin) == ("person", ("chess", "vision"), False)
    assert caller.owns(key("vera"))
    assert caller.owns(key("vera", "two"))
    assert not caller.owns(key("sam"))


def test_a_servers_token_is_that_server_and_no_other() -> None:
    caller = model("access:servers!server=vera/two", "users:activity!user=vera")
    assert caller.kind == "server"
    assert caller.owns(key("vera", "two"))
    assert not caller.owns(key("vera"))
    assert not caller.owns(key("sam", "two"))


def test_a_share_of_anothers_server_gives_nothing() -> None:
    caller = model("access:servers!server=sam/", "access:servers!user=vera")
    assert caller.kind == "person"
    assert not caller.owns(key("sam"))
    assert model("access:servers!server=sam/").kind == "person"


def test_a_servers_token_is_never_an_admins() -> None:
    caller = model("access:servers!server=vera/", admin=True, session_id="s")
    assert (caller.kind, caller.admin) == ("server", False)


def test_an_admin_is_one_by_scope_or_by_signing_in() -> None:
    assert model(ADMIN).admin
    assert model("admin:users", "access:servers").admin
    assert model(admin=True, session_id="s").admin
    assert not model(admin=True).admin
    assert not model(admin="yes", session_id="s").admin


def test_services_are_what_their_scopes_and_name_say() -> None:
    assert model(ASK, kind="service", name="gpu-commons-spawner").kind == "spawner"
    assert model(ASK, kind="service", name="another").kind == "service"
    assert model(SAMPLES, kind="service", name="gpu-commons-agent").kind == "agent"
    assert model(ADMIN, kind="service", name="reports").admin
    assert not model(ASK, ADMIN, kind="service", name="gpu-commons-spawner").admin


def test_a_person_with_a_services_scopes_stays_a_person() -> None:
    assert model(ASK, SAMPLES).kind == "person"


@given(
    st.dictionaries(
        st.sampled_from(["kind", "name", "scopes", "groups", "admin", "session_id"]),
        st.none() | st.booleans() | st.text() | st.lists(st.text()),
    )
)
def test_no_model_of_any_shape_makes_an_admin_by_accident(found: dict[str, object]) -> None:
    caller = caller_of(found, hub="hub")
    scopes = found.get("scopes")
    by_scope = isinstance(scopes, list) and (ADMIN in scopes or "admin:users" in scopes)
    by_session = found.get("admin") is True and bool(found.get("session_id"))
    assert caller.admin <= (by_scope or by_session)
