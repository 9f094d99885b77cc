/* Shows what the API would answer to a form while it is filled in, and the slider of extensions.
   Without this file the button "Check" does the same. */
(function () {
  "use strict";

  // Times and numbers, which a proposal changes, and which mean something else in another zone.
  var PROPOSED = ["start", "end", "earliest", "latest", "until", "hours", "count"];

  // An address with everything else that was typed on the page.
  function withTyped(address) {
    var url = new URL(address, window.location.href);
    document.querySelectorAll("form[data-checked]").forEach(function (form) {
      Array.from(form.elements).forEach(function (field) {
        var isTyped = field.name && field.type !== "hidden" && field.type !== "submit" &&
          !(["checkbox", "radio"].includes(field.type) && !field.checked);
        if (isTyped && field.value && !PROPOSED.includes(field.name)) {
          url.searchParams.set(field.name, field.value);
        }
      });
    });
    return url;
  }

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
      // After the session's end, Horizon leads to its login.
      return answer.ok && !answer.redirected ? answer.text() : null;
    }).then(function (text) {
      // An answer that was overtaken by a later one says nothing about the form any more.
      if (text !== null && Number(form.dataset.turn) === turn) {
        verdict.innerHTML = text;
        document.getElementById("verdict-old").hidden = true;
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
    function follow() {
      var hours = (new Date(end.value + "Z") - base) / 3600000;
      if (!isNaN(hours)) {
        slider.value = hours;
        shown.textContent = (hours > 0 ? "+" : "") + Math.round(hours * 100) / 100;
      }
    }
    end.addEventListener("input", follow);
    follow();
    slider.addEventListener("input", function () {
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

  document.addEventListener("click", function (event) {
    var link = event.target.closest("section .instead a, section .offers a");
    if (link) {
      link.href = withTyped(link.href).href;
    }
  });

  // Horizon's own settings lead away from the page.
  var zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  document.querySelectorAll("[form=zone-form]").forEach(function (button) {
    button.value = zone;
    button.hidden = button.parentNode.dataset.zone === zone;
    button.textContent += ", " + zone;
  });
  document.querySelectorAll("#zone-form").forEach(function (form) {
    form.addEventListener("submit", function () {
      var address = withTyped(window.location.href);
      // The zone of a series' start is that of the page, unless another one was chosen.
      var shown = document.querySelector("[data-zone]").dataset.zone;
      if (address.searchParams.get("timezone") === shown) {
        address.searchParams.delete("timezone");
      }
      form.elements.next.value = address.pathname + address.search;
    });
  });

  // The calendar is one stop of the Tab key. The arrow keys lead from cell to cell.
  document.querySelectorAll(".calendar").forEach(function (table) {
    var rows = Array.from(table.tBodies[0].rows, function (row) {
      return Array.from(row.querySelectorAll("td a"));
    }).filter(function (row) { return row.length; });
    rows.flat().forEach(function (cell, number) { cell.tabIndex = number ? -1 : 0; });
    table.addEventListener("keydown", function (event) {
      var row = rows.findIndex(function (each) { return each.includes(event.target); });
      if (row < 0) {
        return;
      }
      var column = rows[row].indexOf(event.target);
      var next = {
        ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
        ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
        Home: [row, 0], End: [row, rows[row].length - 1]
      }[event.key];
      var cell = next && (rows[next[0]] || [])[next[1]];
      if (next) {
        event.preventDefault();
      }
      if (cell) {
        event.target.tabIndex = -1;
        cell.tabIndex = 0;
        cell.focus();
      }
    });
  });

  document.querySelectorAll("form[data-checked]").forEach(function (form) {
    var verdict = document.getElementById("verdict");
    var timer = null;
    form.addEventListener("input", function () {
      document.getElementById("verdict-old").hidden = false;
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
