/* Shows what the API would answer to a form while it is filled in, and the slider of extensions.
   Without this file the button "Check" does the same. */
(function () {
  "use strict";

  function check(form, verdict) {
    var turn = Number(form.dataset.turn || 0) + 1;
    form.dataset.turn = turn;
    var data = new FormData(form);
    data.append("check", "1");
    fetch(window.location.pathname, {
      method: "POST",
      body: data,
      credentials: "same-origin",
      headers: {"X-Requested-With": "XMLHttpRequest"}
    }).then(function (answer) {
      return answer.ok ? answer.text() : null;
    }).then(function (text) {
      // An answer that was overtaken by a later one says nothing about the form any more.
      if (text !== null && Number(form.dataset.turn) === turn) {
        verdict.innerHTML = text;
      }
    }).catch(function () { /* The button still works. */ });
  }

  function local(moment) {
    function two(number) { return String(number).padStart(2, "0"); }
    return moment.getUTCFullYear() + "-" + two(moment.getUTCMonth() + 1) + "-" +
      two(moment.getUTCDate()) + "T" + two(moment.getUTCHours()) + ":" + two(moment.getUTCMinutes());
  }

  function slide(part, form) {
    var slider = part.querySelector("input");
    var shown = part.querySelector("output");
    var end = form.querySelector("[name=end]");
    // The zone doesn't matter for adding hours, so the times are taken as UTC.
    var base = new Date(part.dataset.end + "Z");
    part.hidden = false;
    slider.addEventListener("input", function () {
      shown.textContent = (slider.value > 0 ? "+" : "") + slider.value;
      end.value = local(new Date(base.getTime() + slider.value * 3600000));
      end.dispatchEvent(new Event("input", {bubbles: true}));
    });
  }

  // On a narrow page, a chart shows its last days first.
  function showNewest() {
    document.querySelectorAll(".newest").forEach(function (part) {
      part.scrollLeft = part.scrollWidth;
    });
  }
  showNewest();
  window.addEventListener("resize", showNewest);

  // The Back button and a reload bring back what was typed, but the page may be made anew. The key
  // of a form stays with the page's entry in the browser's history.
  document.querySelectorAll("[name=one_time_key]").forEach(function (field) {
    var state = window.history.state || {};
    if (state.oneTimeKey) {
      field.value = state.oneTimeKey;
    } else {
      window.history.replaceState(Object.assign({}, state, {oneTimeKey: field.value}), "");
    }
  });

  // The first field with an error may be far down the page.
  var wrong = document.querySelector(".flavor-reservations [aria-invalid=true]");
  if (wrong) {
    wrong.focus({preventScroll: true});
    wrong.closest(".form-group").scrollIntoView({block: "center"});
  }

  // A second click must not book a second time. Horizon's own way of preventing that keeps the
  // browser from sending these forms, so their buttons have the class "always-enabled".
  document.querySelectorAll(".flavor-reservations form[method=post]").forEach(function (form) {
    form.addEventListener("submit", function (event) {
      if (form.dataset.sent) {
        event.preventDefault();
      }
      form.dataset.sent = "yes";
    });
  });
  // A page that the browser takes from its history can be sent again.
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-sent]").forEach(function (form) {
      delete form.dataset.sent;
    });
  });

  // Whether the browser has filled in the forms with what was typed before.
  function isBroughtBack(event) {
    return event.persisted || performance.getEntriesByType("navigation")[0].type !== "navigate";
  }

  document.querySelectorAll("form[data-checked]").forEach(function (form) {
    var verdict = document.getElementById("verdict");
    var timer = null;
    form.addEventListener("input", function () {
      window.clearTimeout(timer);
      timer = window.setTimeout(function () { check(form, verdict); }, 400);
    });
    form.querySelectorAll(".slider").forEach(function (part) { slide(part, form); });
    window.addEventListener("pageshow", function (event) {
      if (isBroughtBack(event)) {
        check(form, verdict);
      }
    });
  });
}());
