// Shows what is new without loading the page again, and sends each form once. The page works without it.
"use strict";

(() => {
  const fresh = document.getElementById("fresh");
  let source = null;
  let isNew = false;

  const main = () => document.getElementById("main");

  // Whoever writes in a form, marks a text or stands in it with the keyboard keeps what they have before them.
  const isBusy = () => {
    const at = document.activeElement;
    const isTyping = at && main().contains(at) && at.matches("input, textarea, select");
    const isChanged = [...main().querySelectorAll("textarea, input")].some((one) => one.value !== one.defaultValue);
    return isTyping || isChanged || String(window.getSelection()).length > 0;
  };

  const openNames = () => [...main().querySelectorAll("details[open]")].map((one) => one.id).filter(Boolean);

  const show = async () => {
    const answer = await fetch(window.location.href, { headers: { accept: "text/html" }, redirect: "error" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const next = page.getElementById("main");
    if (!next) return;
    const names = openNames();
    const at = document.activeElement && document.activeElement.id;
    const notice = main().querySelector(":scope > .notice");
    if (notice && !next.querySelector(":scope > .notice")) next.prepend(notice.cloneNode(true));
    main().replaceWith(next);
    for (const name of names) document.getElementById(name)?.setAttribute("open", "");
    if (at && at !== "main") document.getElementById(at)?.focus({ preventScroll: true });
    isNew = false;
    fresh.hidden = true;
    listen();
  };

  const changed = () => {
    isNew = true;
    if (isBusy()) fresh.hidden = false;
    else show().catch(() => {});
  };

  const listen = () => {
    source?.close();
    source = null;
    const address = main().dataset.live;
    if (!address || document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("changed", changed);
  };

  fresh.addEventListener("click", () => show().catch(() => {}));
  // A browser opens only so many connections to one server: a page that nobody looks at gives its own back.
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden && isNew) changed();
  });
  document.addEventListener("submit", (event) => {
    for (const button of event.target.querySelectorAll("button")) setTimeout(() => (button.disabled = true));
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });
  listen();
})();
