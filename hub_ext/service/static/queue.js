// Keeps the page of what waits up to date: a stream says that something changed, and the page is
// read anew. Hidden pages are told nothing. Without this script a reload shows the same.
(() => {
  "use strict";

  let source = null;
  let seen = null;
  const place = () => document.getElementById("queue");

  async function renew() {
    const answer = await fetch(window.location.href, { credentials: "same-origin" });
    if (answer.redirected || !answer.ok) {
      window.location.reload();
      return;
    }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = fresh.getElementById("queue");
    const active = document.activeElement;
    const typing = active && active.closest && active.closest("select, input");
    if (now && !typing) {
      const kept = active && active.id;
      place().replaceWith(now);
      if (kept) {
        document.getElementById(kept)?.focus();
      }
      say("Up to date.");
      document.title = now.querySelector(".badge-held") ? `(!) ${fresh.title}` : fresh.title;
    }
  }

  function say(words) {
    const line = document.getElementById("live");
    if (line) {
      line.textContent = words;
    }
  }

  function listen() {
    source = new EventSource(place().dataset.news);
    source.addEventListener("seen", (event) => {
      if (seen !== null && seen !== event.data) {
        renew();
      }
      seen = event.data;
      say("This page keeps itself up to date.");
    });
    source.addEventListener("change", (event) => {
      seen = event.data;
      renew();
    });
    source.addEventListener("error", () => say("No contact just now; trying again."));
  }

  function quiet() {
    source?.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      quiet();
    } else if (source === null) {
      listen();
    }
  });
  window.addEventListener("pagehide", quiet);
  if (!document.hidden) {
    listen();
  }
})();
