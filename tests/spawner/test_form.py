"""The form says what is offered, how it stands and what it costs, and trusts no text."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import (
    EndedServer,
    Environment,
    Isolation,
    LeaseId,
    Offer,
    ProfileName,
    ProjectName,
    Reason,
    RunningServer,
    ServerName,
    ShareOffer,
    Standing,
    TaskChoice,
    TaskTypeName,
    TeamName,
)
from hub_ext.lease.smaller import Smaller
from spawner.form import Page, isolation_words, render
from spawner.form_choices import span_words
from spawner.options import Options, options_from_form, read_options
from tests.support.chromium import launched
from tests.support.governor import AT, FakeGovernor, offer

VOID = {"input"}


class Read(HTMLParser):
    """What a person's browser makes of the form: fields, text, and whether tags are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.radios: list[dict[str, str | None]] = []
        self.options: dict[str, list[str]] = {}
        self.labels: set[str | None] = set()
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.words = ""
        self._open: list[str] = []
        self._select = ""
        self.feed(html)
        assert self._open == []
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.add(tag)
        if identity := values.get("id"):
            self.ids.append(identity)
        if tag == "input":
            self.radios.append(values)
        if tag == "select":
            self._select = values["name"] or ""
            self.options[self._select] = []
        if tag == "option":
            self.options[self._select].append(values["value"] or "")
        if tag == "label":
            self.labels.add(values["for"])
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.words += data


def page(*offers: Offer, **changes: Any) -> Page:
    fields: dict[str, Any] = {
        "sheet": FakeGovernor(offers=list(offers)).sheet("ada"),
        "problem": "",
        "last_seen": (),
        "chosen": Options(),
        "enforced": False,
        "cautions": (),
    }
    return Page(**{**fields, **changes})


def test_a_class_that_no_node_was_found_with_is_said_to_be_the_policys() -> None:
    form = Read(render(page(offer("mig-small", found=False))))
    assert (
        "a MIG slice of your own, not enforced; the policy says so, no node was found with it"
        in form.words
    )


def test_an_offer_shows_device_room_standing_isolation_price_and_reason() -> None:
    form = Read(render(page(offer("mig-small", description="For small models."))))
    for words in (
        "Profile mig-small",
        "guaranteed",
        "For small models.",
        "MIG 1g.18gb on H200 141 GB",
        "3 free now",
        "a MIG slice of your own, not enforced, found on the node",
        "2 CPU cores",
        "4 GiB memory",
        "for 4 hours, at most 12 hours",
        "EUR 0.80 an hour",
        "EUR 3.20 for 4 hours",
        "Inside the guarantee of vision: 1 of 2 held.",
        "simulated",
        "Simulated GPUs.",
        "As of 2026-11-30 14:05:09 UTC",
    ):
        assert words in form.words


def test_the_time_of_the_sheet_is_on_the_policys_clock() -> None:
    sheet = FakeGovernor(offers=[offer("small")]).sheet("ada")
    paris = sheet.model_copy(update={"timezone": "Europe/Paris"})
    assert "As of 2026-11-30 15:05:09 CET" in Read(render(page(sheet=paris))).words


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing.guaranteed, "guaranteed"),
        (Standing.borrowed, "borrowed"),
        (Standing.would_queue, "would have to wait"),
        (Standing.denied, "not possible"),
        (Standing.unmetered, "no quota needed"),
    ],
)
def test_every_standing_has_words(standing: Standing, words: str) -> None:
    assert words in Read(render(page(offer("mig-small", standing=standing)))).words


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing.guaranteed, "✓ Profile large can start now: its team's guarantee covers it."),
        (Standing.borrowed, "⇄ Profile large can start now, on quota that others leave free."),
        (Standing.unmetered, "✓ Profile large can start now: it needs no quota."),
        (Standing.would_queue, "… Profile large cannot start now. Start would only tell"),
    ],
)
def test_above_start_stands_what_it_does(standing: Standing, words: str) -> None:
    form = Read(render(page(offer("large", standing=standing))))
    assert words in form.words
    assert form.radios[0]["aria-describedby"] == "gpu-commons-1-1-about gpu-commons-1-1-outcome"
    assert "gpu-commons-1-1-outcome" in form.ids


def test_where_nothing_can_start_it_says_so_above_start() -> None:
    full = offer("large", standing=Standing.would_queue)
    form = Read(render(page(full, offer("huge", standing=Standing.denied))))
    assert "Nothing here can start now; each profile says why." in form.words
    assert "huge cannot" not in form.words
    assert "Choose a profile." in Read(render(page(offer("small")))).words


def test_what_is_never_possible_cannot_be_chosen_and_says_why() -> None:
    why = Reason(code="too-large", message="Larger than vision may ask for: 2 of 1 GPU.")
    form = Read(
        render(page(offer("big", standing=Standing.denied, reason=why), offer("mig-small")))
    )
    big, small = form.radios
    assert "disabled" in big
    assert "checked" not in big
    assert "checked" in small
    assert why.message in form.words


def test_a_price_that_is_not_known_is_not_zero() -> None:
    unpriced = offer(
        "mig-small", price_micro_per_hour=None, price_micro_default=None, price_text="not priced"
    )
    words = Read(render(page(unpriced))).words
    assert "not priced" in words
    assert "0.00" not in words


def test_every_field_has_a_label_and_every_id_is_its_own() -> None:
    projects = (ProjectName("atlas"), ProjectName("borg"))
    form = Read(render(page(offer("cpu", projects=projects), offer("mig-small"))))
    fields = {radio["id"] for radio in form.radios} | {
        "gpu-commons-lifetime",
        "gpu-commons-project",
        "gpu-commons-wait",
    }
    assert form.labels == fields
    assert len(form.ids) == len(set(form.ids))
    assert "script" not in form.tags
    assert {"fieldset", "legend"} <= form.tags


def test_a_project_is_asked_only_where_there_is_a_choice() -> None:
    one = Read(render(page(offer("cpu"))))
    assert "project" not in one.options
    two = offer("cpu", projects=(ProjectName("atlas"), ProjectName("borg")))
    assert Read(render(page(two))).options["project"] == ["", "atlas", "borg"]
    usual = two.model_copy(update={"project": ProjectName("borg")})
    html = render(page(usual))
    assert Read(html).options["project"] == ["atlas", "borg"]
    assert 'value="borg" selected' in html


def test_teams_are_told_apart_only_where_there_are_several() -> None:
    assert "Team" not in Read(render(page(offer("cpu")))).words
    both = Read(render(page(offer("cpu"), offer("cpu", team=TeamName("nlp")))))
    assert "Team vision" in both.words
    assert "Team nlp" in both.words
    assert [radio["value"] for radio in both.radios] == ["cpu/vision", "cpu/nlp"]


def test_the_environment_is_named_where_no_project_has_to_be_chosen() -> None:
    pinned = offer("cpu", environment=Environment(name="torch-2", prefix="/e", digest="sha256:0"))
    assert "environment torch-2" in Read(render(page(pinned))).words


def test_lifetimes_go_as_far_as_some_profile_allows_and_say_for_whom() -> None:
    short = offer("short", lifetime_default_s=600, lifetime_longest_s=3600)
    long = offer("long", lifetime_default_s=3600, lifetime_longest_s=5 * 3600)
    form = Read(render(page(short, long)))
    assert form.options["lifetime"] == ["", "10m", "30m", "1h", "2h", "4h", "5h"]
    assert "2 hours (not for Profile short)" in form.words
    assert "EUR 1.60 for 2 hours" in form.words
    assert "at most 1 hour" in form.words


def test_a_long_lifetime_names_the_few_that_may_have_it() -> None:
    fields = {"lifetime_default_s": 600, "lifetime_longest_s": 3600}
    offers = [
        offer("cpu", lifetime_longest_s=86400),
        offer("cpu", team=TeamName("nlp"), **fields),
        offer("mig-small", **fields),
    ]
    words = Read(render(page(*offers))).words
    assert "1 day (only Profile cpu of vision)" in words
    offers[2] = offer("mig-small", lifetime_longest_s=86400)
    assert "1 day (not for Profile cpu of nlp)" in Read(render(page(*offers))).words


def test_every_value_of_the_form_comes_back_as_clean_options() -> None:
    projects = (ProjectName("atlas"), ProjectName("borg"))
    form = Read(render(page(offer("cpu", projects=projects), offer("mig-small"))))
    for radio in form.radios:
        for project in form.options["project"]:
            for lifetime in form.options["lifetime"]:
                fields = {
                    "offer": [radio["value"]],
                    "project": [project],
                    "lifetime": [lifetime],
                }
                options = read_options(options_from_form(fields))
                assert f"{options.profile}/{options.team}" == radio["value"]


def test_the_last_choice_is_kept_where_it_is_still_possible() -> None:
    chosen = Options(
        profile=ProfileName("mig-small"), project=ProjectName("borg"), lifetime_s=8 * 3600
    )
    projects = (ProjectName("atlas"), ProjectName("borg"))
    offers = [offer("cpu", projects=projects), offer("mig-small", projects=projects)]
    html = render(page(*offers, chosen=chosen))
    assert "checked" in Read(html).radios[1]
    assert 'value="borg" selected' in html
    assert 'value="8h" selected' in html
    offers[1] = offer("mig-small", standing=Standing.would_queue)
    assert "checked" in Read(render(page(*offers, chosen=chosen))).radios[1]
    offers[1] = offer("mig-small", standing=Standing.denied)
    assert "checked" in Read(render(page(*offers, chosen=chosen))).radios[0]


def test_how_a_server_ended_is_said_before_the_next_one_is_chosen() -> None:
    ends = (
        EndedServer(server=ServerName(""), at=AT, words="It used all its memory <b>."),
        EndedServer(server=ServerName("two"), at=AT, words="Its machine put it out."),
    )
    sheet = FakeGovernor(offers=[offer("cpu")]).sheet("ada b")
    sheet = sheet.model_copy(update={"ended": ends})
    html = render(page(sheet=sheet, queue_page="/services/gpu-commons/queue"))
    words = Read(html).words
    assert "Your server ended at 2026-11-30 14:05" in words
    assert "It used all its memory <b>." in words
    assert "<b>" not in html
    assert "Your server two ended at" in words
    assert 'href="/services/gpu-commons/why/ada%20b/-"' in html
    assert 'href="/services/gpu-commons/why/ada%20b/two"' in html
    away = Read(render(page(sheet=None, problem="Away.", last_seen=(offer("cpu"),))))
    assert "ended at" not in away.words


def test_nothing_to_choose_is_said() -> None:
    sheet = FakeGovernor(
        offers=[], message=Reason(code="no-team", message="You belong to no team.")
    ).sheet("ada")
    form = Read(render(page(sheet=sheet)))
    assert form.radios == []
    assert form.words.startswith("You belong to no team.")
    assert "Ask an administrator" in Read(render(page())).words


def test_governor_away_shows_words_and_the_profiles_that_still_start() -> None:
    form = Read(
        render(page(sheet=None, problem="GPU Commons does not answer.", last_seen=(offer("cpu"),)))
    )
    assert "GPU Commons does not answer." in form.words
    assert [radio["value"] for radio in form.radios] == ["cpu/vision"]
    assert "As of" not in form.words
    assert "free now" not in form.words


def test_what_is_not_enforced_is_on_the_form() -> None:
    assert (
        "Servers share one user." in Read(render(page(cautions=("Servers share one user.",)))).words
    )
    assert isolation_words(Isolation.gpu, enforced=True) == "a GPU of your own"
    assert isolation_words(Isolation.gpu, enforced=False) == "a GPU of your own, not enforced"
    assert isolation_words(Isolation.none, enforced=False) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (600, "10 minutes"),
        (5400, "1 hour 30 minutes"),
        (86400, "1 day"),
        (129600, "1 day 12 hours"),
    ],
)
def test_lifetimes_in_words(seconds: int, words: str) -> None:
    assert span_words(seconds) == words


@given(st.text(min_size=1, max_size=40))
def test_no_text_of_the_policy_becomes_markup(text: str) -> None:
    evil = f"{text}<script>alert(1)</script>\"' onmouseover=x>"
    dressed = offer(
        "cpu",
        title=evil,
        description=evil,
        reason=Reason(code="x", message=evil),
        price_text=evil,
        flavor_title=evil,
        environment=Environment(name=evil[:200], prefix="/e", digest="x"),
    )
    html = render(page(dressed, offer("mig-small", flavor_title=evil), problem=evil))
    form = Read(html.replace("\0", ""))
    assert "script" not in form.tags
    assert all(set(radio) <= RADIO for radio in form.radios)
    assert not re.search(r"<[^>]* onmouseover", html)


RADIO = {"type", "name", "id", "value", "required", "aria-describedby", "checked", "disabled"}


def test_waiting_is_offered_beside_a_gpu_alone_and_nobody_waits_unasked() -> None:
    with_gpu = render(page(offer("cpu"), offer("mig-small")))
    assert '<option value="no" selected>do not wait' in with_gpu
    assert '<option value="start">start it for me' in with_gpu
    assert '<option value="hold">hold it and tell me' in with_gpu
    assert "If it must wait" not in render(page(offer("cpu")))


TRAINING = TaskChoice(name=TaskTypeName("training"), title="Training")
SERVICE = TaskChoice(name=TaskTypeName("service"), title="Service", lifetime_longest_s=7 * 86400)


def test_what_it_is_for_is_asked_only_where_there_is_a_choice() -> None:
    assert "task_type" not in Read(render(page(offer("mig-small")))).options
    usual = offer("mig-small", task_types=(TRAINING,), task_type="training")
    assert "task_type" not in Read(render(page(usual))).options
    form = Read(render(page(usual, offer("cpu", task_types=(TRAINING, SERVICE)))))
    assert form.options["task_type"] == ["", "training", "service"]
    assert "as the profile says" in form.words
    assert "Service (only" in form.words
    assert "gpu-commons-task" in form.labels


def test_without_any_default_the_first_choice_is_not_labelled() -> None:
    assert "not labelled" in Read(render(page(offer("cpu", task_types=(TRAINING,))))).words


def test_a_type_that_may_live_longer_has_lifetimes_of_its_own() -> None:
    form = Read(render(page(offer("mig-small", task_types=(TRAINING, SERVICE)))))
    assert "7d" in form.options["lifetime"]
    assert "7 days as Service" in form.words
    assert "12 hours as Service" not in form.words


def test_what_may_be_had_alone_is_offered_with_what_it_goes_with() -> None:
    assert "alone" not in Read(render(page(offer("mig-small")))).options
    offers = [offer("mig-small", alone=("gpu",)), offer("large", alone=("node",))]
    read = Read(render(page(*offers)))
    assert read.options["alone"] == ["no", "gpu", "node"]
    assert "gpu-commons-alone" in read.labels
    text = render(page(*offers))
    assert "the whole GPU (only Profile mig-small)" in text
    chosen = options_from_form({"offer": ["mig-small/vision"], "alone": ["gpu"]})
    assert read_options(chosen).choice(ProfileName("mig-small")).alone == "gpu"


def test_waiting_for_the_guarantee_is_offered_where_the_team_may_borrow() -> None:
    assert "borrow" not in Read(render(page(offer("mig-small")))).options
    form = Read(render(page(offer("mig-small", may_borrow=True))))
    assert form.options["borrow"] == ["yes", "no"]
    assert "gpu-commons-borrow" in form.labels
    chosen = options_from_form({"offer": ["mig-small/vision"], "borrow": ["no"]})
    assert read_options(chosen).only_guaranteed


def test_the_last_purpose_stays_chosen() -> None:
    options = Options(task_type=TaskTypeName("service"), only_guaranteed=True)
    offers = [offer("mig-small", task_types=(TRAINING, SERVICE), may_borrow=True)]
    html = render(page(*offers, chosen=options))
    assert '<option value="service" selected>' in html
    assert '<option value="no" selected>' in html


def test_whose_share_the_standing_is_stands_beside_the_project() -> None:
    projects = (ProjectName("maps"), ProjectName("birds"))
    shared = offer("mig-small", project="maps", projects=projects, shared_out=True)
    assert "what stands above is that of maps" in Read(render(page(shared))).words
    alone = offer("mig-small", project="maps", projects=projects)
    assert "Projects have shares" not in Read(render(page(alone))).words


def test_a_server_that_runs_can_change_its_profile_instead() -> None:
    runs = (
        RunningServer(lease_id=LeaseId("l-1"), server=ServerName(""), has="Small slice"),
        RunningServer(lease_id=LeaseId("l-2"), server=ServerName("<night>"), has="No GPU"),
    )
    shown = page(offer("mig-small"), queue_page="/services/gpu-commons/queue")
    assert shown.sheet is not None
    sheet = shown.sheet.model_copy(update={"running": runs})
    html = render(replace(shown, sheet=sheet))
    words = Read(html).words
    assert "Your server runs with Small slice. Change its profile instead" in words
    assert "Your server <night> runs with No GPU." in words
    assert 'href="/services/gpu-commons/switch/l-2"' in html
    assert "Change its profile" not in render(replace(shown, sheet=sheet, queue_page=""))
    assert "Change its profile" not in render(shown)


def with_shares(*, maps: Standing, birds: Standing) -> Offer:
    """An offer that stands otherwise for another project; `maps` is where none is chosen."""
    standings = {"maps": maps, "birds": birds}
    return offer(
        "mig-small",
        standing=maps,
        project="maps",
        projects=tuple(ProjectName(name) for name in standings),
        shared_out=True,
        shares=tuple(
            ShareOffer(
                project=ProjectName(name),
                standing=standing,
                reason=Reason(code="x", message=f"The share of {name}."),
            )
            for name, standing in standings.items()
        ),
    )


def test_each_profile_tells_how_it_stands_for_which_project() -> None:
    form = Read(render(page(with_shares(maps=Standing.would_queue, birds=Standing.guaranteed))))
    assert "For project maps: would have to wait. The share of maps." in form.words
    assert "For project birds: guaranteed. The share of birds." in form.words
    assert "each profile tells how it stands for which" in form.words


def test_what_another_project_may_have_can_be_chosen() -> None:
    some = Read(render(page(with_shares(maps=Standing.denied, birds=Standing.guaranteed))))
    assert "disabled" not in some.radios[0]
    none = Read(render(page(with_shares(maps=Standing.denied, birds=Standing.denied))))
    assert "disabled" in none.radios[0]


@pytest.mark.browser
def test_in_a_browser_badge_and_outcome_follow_the_chosen_project() -> None:
    html = render(page(with_shares(maps=Standing.would_queue, birds=Standing.guaranteed)))
    with launched() as chromium:
        tab = chromium.new_page()
        tab.set_content(f"<form>{html}</form>")
        head, outcome = tab.locator(".gpu-commons-head"), tab.locator(".gpu-commons-outcome")
        tab.get_by_role("radio").check()
        assert "would have to wait" in head.inner_text()
        assert "cannot start now" in outcome.inner_text()
        tab.get_by_label("Project").select_option("birds")
        assert "guaranteed" in head.inner_text()
        assert "would have to wait" not in head.inner_text()
        assert "can start now: its team's guarantee covers it" in outcome.inner_text()
        assert "cannot start now" not in outcome.inner_text()


def test_a_purpose_is_asked_for_where_the_site_wants_to_hear_of_it() -> None:
    assert "Purpose, in a sentence" not in Read(render(page(offer("small")))).words
    dear, cheap = offer("large", needs_purpose=True), offer("small")
    sheet = FakeGovernor(offers=[dear, cheap]).sheet("ada")
    wanting = sheet.model_copy(update={"takes_purpose": True})
    made = render(page(sheet=wanting, chosen=Options(purpose='tune "it"')))
    form = Read(made)
    assert "gpu-commons-purpose" in form.labels
    assert "Has to be said for Profile large. It stays in your team" in form.words
    assert 'value="tune &#34;it&#34;"' in made


def test_a_smaller_one_that_would_do_is_told_and_nothing_is_chosen_for_anybody() -> None:
    hint = Smaller(
        profile=ProfileName("small"),
        team=TeamName("vision"),
        saves_micro_per_hour=1,
        confidence="low",
        leases=3,
        measured_s=3600,
        peak_memory_bytes=1,
        peak_busy_percent=1,
        words="Small <would> do.",
    )
    made = render(page(offer("large", smaller=hint), offer("small")))
    assert "A smaller one would do. Small <would> do." in Read(made).words
    assert "Small &lt;would&gt; do." in made
    assert [values["value"] for values in Read(made).radios if "checked" in values] == [
        "large/vision"
    ]
