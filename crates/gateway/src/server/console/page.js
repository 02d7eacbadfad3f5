"use strict";

// Everything that is shown is text: nothing of it is read as markup.
const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};

const table = (heads, rows, empty) => {
  if (rows.length === 0) return make("p", empty, "soft");
  const scroll = make("div", undefined, "scroll");
  const whole = make("table");
  const head = whole.createTHead().insertRow();
  for (const name of heads) head.append(make("th", name, name.startsWith("#") ? "number" : ""));
  for (const th of head.cells) th.textContent = th.textContent.replace(/^#/, "");
  const body = whole.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((cell, place) => {
      const td = line.insertCell();
      if (cell instanceof Node) td.append(cell);
      else td.textContent = cell;
      if (heads[place].startsWith("#")) td.className = "number";
    });
  }
  scroll.append(whole);
  return scroll;
};

// The text format of Prometheus: name{label="value",…} number
const read = text => {
  const samples = [];
  for (const line of text.split("\n")) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      labels[name] = value.replace(/\\(.)/g, (_, character) => character === "n" ? "\n" : character);
    samples.push({ name: found[1], labels, value: Number(found[3]) });
  }
  return samples;
};

const matching = (samples, name, labels = {}) => samples.filter(sample =>
  sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value));
const sum = list => list.reduce((total, sample) => total + sample.value, 0);

const seconds = value => {
  if (!Number.isFinite(value)) return "–";
  if (value < 0.001) return `${(value * 1e6).toFixed(0)} µs`;
  if (value < 1) return `${(value * 1e3).toFixed(value < 0.01 ? 2 : 0)} ms`;
  return `${value.toFixed(2)} s`;
};
const rate = value => value >= 10 ? value.toFixed(0) : value.toFixed(1);
const days = value => value >= 2 ? `${Math.floor(value)} days` : `${Math.floor(value * 24)} hours`;

// What was added to counters since the state before.
let before;
const growth = (now, name, labels) => {
  const old = before ? sum(matching(before.samples, name, labels)) : 0;
  return Math.max(0, sum(matching(now.samples, name, labels)) - old);
};
const spent = now => before ? Math.max(1, now.state.now - before.state.now) : Infinity;

// A quantile of what a histogram counted since the state before, or since the start.
const quantile = (now, name, labels, part) => {
  const buckets = matching(now.samples, `${name}_bucket`, labels);
  const bounds = [...new Set(buckets.map(sample => sample.labels.le))]
    .map(le => ({ le, bound: le === "+Inf" ? Infinity : Number(le) })).sort((a, b) => a.bound - b.bound);
  const counts = bounds.map(({ le }) => {
    const all = sum(buckets.filter(sample => sample.labels.le === le));
    const old = before ? sum(matching(before.samples, `${name}_bucket`, { ...labels, le })) : 0;
    return { since: all - old, all };
  });
  if (counts.length === 0) return NaN;
  const key = counts[counts.length - 1].since > 0 ? "since" : "all";
  const total = counts[counts.length - 1][key];
  if (total === 0) return NaN;
  const place = counts.findIndex(count => count[key] >= part * total);
  return bounds[place].bound;
};

const words = (title, told) => {
  const parts = [];
  for (const policy of told) {
    parts.push(make("p", title, "soft"));
    const list = make("ul");
    for (const sentence of policy) list.append(make("li", sentence));
    parts.push(list);
  }
  return parts;
};

const side = (title, endpoint) => {
  const details = make("details");
  const name = endpoint
    ? `${title}: ${endpoint.mechanism}${endpoint.suite ? ` ${endpoint.suite}` : ""}${endpoint.conversations ? ", in conversations" : ""}`
    : `${title}: as they are`;
  details.append(make("summary", name));
  if (endpoint) {
    const [request, answer] = title === "clients" ? ["arriving", "leaving"] : ["leaving", "arriving"];
    details.append(...words("Requests", endpoint[request]), ...words("Answers", endpoint[answer]));
  }
  return details;
};

const routes = now => {
  const parts = [];
  for (const route of now.state.routes) {
    const labels = { route: route.name };
    const up = sum(matching(now.samples, "soapstone_backend_up", labels)) > 0;
    parts.push(make("h3", `${route.path} → ${route.backend}`));
    const line = make("p");
    line.append(make("span", up ? "backend reached" : "backend not reached", up ? "good" : "bad"));
    const calls = growth(now, "soapstone_requests_total", labels) / spent(now);
    const refusals = sum(matching(now.samples, "soapstone_refused_messages_total", labels));
    line.append(`, ${rate(calls)} calls a second, p50 ≤ ${seconds(quantile(now, "soapstone_request_seconds", labels, 0.5))}`
      + `, p95 ≤ ${seconds(quantile(now, "soapstone_request_seconds", labels, 0.95))}, `);
    line.append(make("span", `${refusals} refused since the start`, refusals > 0 ? "warn" : "soft"));
    parts.push(line, side("clients", route.inbound), side("backend", route.outbound));
  }
  return parts;
};

const operations = now => {
  const rows = [];
  for (const { labels, value } of matching(now.samples, "soapstone_operation_seconds_count")) {
    if (value === 0) continue;
    const of = name => sum(matching(now.samples, `soapstone_operation_${name}`, labels));
    const share = of("security_seconds_total") / of("seconds_sum");
    const name = labels.operation === "*" ? make("span", "all others", "soft") : labels.operation;
    const spoiled = count => make("span", String(count), count > 0 ? "warn" : "soft");
    rows.push([labels.route, name, String(value), String(of("in_hand")), seconds(quantile(now, "soapstone_operation_seconds", labels, 0.5)),
      seconds(quantile(now, "soapstone_operation_seconds", labels, 0.95)), seconds(quantile(now, "soapstone_operation_backend_seconds", labels, 0.95)),
      `${(100 * Math.min(1, share || 0)).toFixed(0)} %`, spoiled(of("failures_total")), spoiled(of("refusals_total"))]);
  }
  return [table(["route", "operation", "#calls", "#in hand", "#p50 ≤", "#p95 ≤", "#backend p95 ≤", "#security", "#failed", "#refused"], rows,
    "No request was opened yet.")];
};

const refused = now => {
  const rows = matching(now.samples, "soapstone_refusals_total").sort((a, b) => b.value - a.value).map(sample =>
    [sample.labels.route, sample.labels.direction, sample.labels.reason, String(sample.value)]);
  const parts = [table(["route", "direction", "reason", "#times"], rows, "No message was refused since the start.")];
  const kept = now.state.refused;
  if (kept === null || kept === undefined) {
    parts.push(make("p", "Messages are not kept: record = { refused = 100 } keeps the last ones for `soapstone explain --gateway`.", "soft"));
    return parts;
  }
  const list = Array.isArray(kept) ? kept : (kept.refused || []);
  const how = record => {
    if (record.not_kept) return make("span", `not kept: ${record.not_kept}`, "soft");
    return now.state.explains ? button(record.id) : make("code", `soapstone explain --gateway ${location.origin} ${record.id}`);
  };
  // The button stands first: a phone shows it without scrolling.
  const lines = list.map(record => [how(record), (record.time || "").slice(0, 19).replace("T", " "), record.route || "", record.reason || "",
    record.cause || ""]);
  parts.push(make("h3", "The last ones"), table(["explain it", "time (UTC)", "route", "reason", "cause"], lines, "None is kept."));
  return parts;
};

// The explanation stands in an element of its own, which is not drawn anew with the figures.
const button = id => {
  const it = make("button", "explain");
  it.type = "button";
  it.dataset.id = id;
  it.addEventListener("click", () => explain(id));
  return it;
};

const explain = async id => {
  const place = document.getElementById("explained");
  const text = make("pre", "Explaining …");
  place.replaceChildren(make("h3", `Why ${id} was refused`), text,
    make("p", `The same, with the endpoint file: soapstone explain --gateway ${location.origin} ${id} --config FILE`, "soft"));
  try {
    const answer = await fetch(`/console/explained/${encodeURIComponent(id)}`, { headers: { accept: "text/plain" } });
    text.textContent = await answer.text();
  } catch {
    text.textContent = "The gateway does not answer.";
  }
  place.scrollIntoView({ block: "nearest" });
};

const milliseconds = value => value === null || value === undefined ? "not known" : seconds(value / 1000);

// Where the backends of a route come from, and whether that still holds.
const source = told => {
  if (!told) return make("p", "The file names the backends.", "soft");
  const from = told.srv === undefined ? "registry" : "DNS";
  const about = told.srv || told.service || told.port_type;
  const known = told.known === null ? "no backend is known yet" : `${told.known} backends known`;
  const asked = told.answered_ms_ago === null ? "it has not answered yet" : `it answered ${milliseconds(told.answered_ms_ago)} ago`;
  const line = make("p", `${from}, ${about}: ${known}, ${asked}. `);
  line.append(make("span", told.stale ? "stale: the backends are those known before" : "current", told.stale ? "bad" : "good"));
  return line;
};

const needed = needs => {
  const parts = [...needs.properties, ...needs.refused.map(it => `no ${it}`), ...needs.encrypted.map(it => `${it} encrypted`)];
  if (needs.bits > 0) parts.push(`${needs.bits} bits`);
  if (needs.time_ms !== null) parts.push(`an answer in ${milliseconds(needs.time_ms)}`);
  if (needs.availability > 0) parts.push(`${needs.availability} % of answers`);
  return parts.join(", ") || "nothing";
};

// An index with its parts under it.
const index = (name, whole, parts) => {
  const details = make("details");
  const list = make("ul");
  for (const part of parts) list.append(make("li", part));
  details.append(make("summary", `${name}: ${whole}`), list);
  return details;
};

const candidate = (route, told) => {
  const given = Object.entries(told.security).map(([property, { level, bits }]) =>
    level === "none" ? `${property}: not given` : `${property}: ${bits} bits, by ${level}`);
  if (told.algorithms.length > 0) given.push(`with ${told.algorithms.join(", ")}`);
  if (told.encrypted.length > 0) given.push(`encrypted: ${told.encrypted.join(", ")}`);
  const times = [`seen: ${milliseconds(told.seen_ms)}`, `mean of answers: ${milliseconds(told.mean_ms)}`,
    `reported: ${milliseconds(told.claimed_ms)}${told.doubted ? ", doubted: calls took much longer" : ""}`, `in hand: ${told.in_hand}`];
  const indices = make("div");
  indices.append(index(`security index of ${told.name}, ${route}`, told.security_index.toFixed(0), given),
    index(`time of ${told.name}, ${route}`, milliseconds(told.predicted_ms), times));
  const state = [told.state, told.backup ? "backup" : ""].filter(Boolean).join(", ");
  return [told.name, make("span", told.eligible ? "eligible" : "not eligible", told.eligible ? "good" : "bad"),
    make("span", state, told.usable ? "good" : "bad"), told.why, indices, String(told.ejections)];
};

const selection = now => {
  const excluded = matching(now.samples, "soapstone_agreement_excluded").filter(it => it.value > 0);
  const parts = [];
  for (const route of now.state.selection) {
    parts.push(make("h3", `${route.route}: ${route.selection}`), source(route.source), make("p", `Requests need: ${needed(route.needs)}`));
    const rows = route.candidates.map(told => candidate(route.route, told));
    parts.push(table(["backend", "", "state", "why", "both indices", "#ejections"], rows, "No backend is known."));
    for (const { labels } of excluded.filter(it => route.candidates.some(told => told.name === it.labels.backend)))
      parts.push(make("p", `${labels.backend} is excluded by the agreement ${labels.agreement}: its calls go elsewhere`, "warn"));
  }
  return parts.length > 0 ? parts : [make("p", "No route has several backends.", "soft")];
};

const agreements = now => {
  const rows = matching(now.samples, "soapstone_agreement_in_force").map(({ labels: { agreement }, value }) => {
    const requests = outcome => String(sum(matching(now.samples, "soapstone_agreement_requests_total", { agreement, outcome })));
    const broken = matching(now.samples, "soapstone_agreement_violations_total", { agreement }).filter(it => it.value > 0);
    const told = broken.map(it => `${it.labels.party}, ${it.labels.obligation}: ${it.value}`).join("; ");
    const excluded = matching(now.samples, "soapstone_agreement_excluded", { agreement }).filter(it => it.value > 0);
    return [agreement, make("span", value > 0 ? "in force" : "not in force", value > 0 ? "good" : "warn"),
      requests("admitted"), requests("refused"), make("span", told || "none", told ? "bad" : "soft"),
      excluded.map(it => it.labels.backend).join(", ")];
  });
  const parts = [table(["agreement", "", "#admitted", "#refused", "violations", "excluded"], rows, "The configuration names no agreements.")];
  const unrecorded = sum(matching(now.samples, "soapstone_violation_records_lost_total"));
  if (unrecorded > 0) parts.push(make("p", `${unrecorded} violations are not recorded: the log says why`, "bad"));
  const logged = matching(now.samples, "soapstone_call_records_logged_total");
  if (logged.length > 0) {
    const [waiting, lost] = ["waiting", "lost_total"].map(name => sum(matching(now.samples, `soapstone_call_records_${name}`)));
    const line = make("p", `The registry has logged ${sum(logged)} calls, ${waiting} wait, `);
    line.append(make("span", `${lost} are lost`, lost > 0 ? "bad" : "soft"));
    parts.push(line);
  }
  return parts;
};

const steps = now => {
  const rows = [];
  for (const sample of matching(now.samples, "soapstone_step_seconds_count")) {
    const total = sum(matching(now.samples, "soapstone_step_seconds_sum", sample.labels));
    if (sample.value > 0)
      rows.push([sample.labels.route, sample.labels.direction, sample.labels.step, String(sample.value), seconds(total / sample.value),
        seconds(quantile(now, "soapstone_step_seconds", sample.labels, 0.95))]);
  }
  return [table(["route", "direction", "step", "#times", "#mean", "#p95 ≤"], rows, "No message was worked on yet.")];
};

const fill = now => {
  const rows = [];
  for (const [what, name, limit] of [
    ["messages in hand, bytes", "soapstone_buffered_bytes", "soapstone_buffered_limit_bytes"],
    ["messages that wait", "soapstone_crypto_queue", "soapstone_crypto_queue_limit"],
    ["connections", "soapstone_connections", "soapstone_connections_limit"],
    ["replay marks", "soapstone_replay_marks", "soapstone_replay_marks_limit"],
    ["conversations", "soapstone_conversations", "soapstone_conversations_limit"],
  ]) {
    for (const sample of matching(now.samples, name)) {
      const most = matching(now.samples, limit, sample.labels)[0];
      if (!most) continue;
      const meter = make("meter");
      meter.max = most.value || 1;
      meter.value = sample.value;
      meter.high = 0.8 * meter.max;
      meter.title = `${sample.value} of ${most.value}`;
      const place = [sample.labels.route, sample.labels.direction].filter(Boolean).join(", ");
      rows.push([what, place, sample.value.toLocaleString("en"), most.value.toLocaleString("en"), meter]);
    }
  }
  return [table(["", "of", "#now", "#limit", ""], rows, "Nothing is held.")];
};

const certificates = now => {
  const rows = now.state.certificates.sort((a, b) => a.expires - b.expires).map(certificate => {
    const left = (certificate.expires - now.state.now) / 86400;
    const text = left < 0 ? "has expired" : `${days(left)} left`;
    return [certificate.route || "[tls]", certificate.direction || "", certificate.use,
      new Date(certificate.expires * 1000).toISOString().slice(0, 16).replace("T", " "),
      make("span", text, left < 0 ? "bad" : left < 30 ? "warn" : "good")];
  });
  return [table(["route", "direction", "use", "ends (UTC)", ""], rows, "The configuration names none.")];
};

const weak = now => {
  const uses = matching(now.samples, "soapstone_weak_algorithm_uses_total");
  const rows = uses.map(({ labels, value }) => {
    const route = now.state.routes.find(it => it.name === labels.route);
    const endpoint = route && route[labels.direction];
    const end = endpoint && endpoint.ends[labels.algorithm];
    const until = end ? make("span", `until ${end.slice(0, 10)}`, "good") : make("span", "no end is set", "warn");
    const day = which => {
      const [found] = matching(now.samples, `soapstone_weak_algorithm_${which}_use_seconds`, labels);
      return found ? new Date(found.value * 1000).toISOString().slice(0, 16).replace("T", " ") : "";
    };
    return [labels.route, labels.direction, labels.algorithm, until, String(value), day("first"), day("last")];
  });
  const minute = text => (text || "").slice(0, 16).replace("T", " ");
  const whom = { nobody: "nobody is proven", others: "all others" };
  const partners = now.state.weak.map(it => [it.partner === null ? make("span", whom[it.proven_by], "soft") : it.partner,
    it.partner === null ? "" : it.proven_by, it.algorithm, it.until ? make("span", `until ${it.until.slice(0, 10)}`, "good") : make("span", "no end is set", "warn"),
    String(it.uses), minute(it.first), minute(it.last), it.route, it.direction]);
  return [table(["route", "direction", "algorithm", "allowed", "#uses", "first (UTC)", "last (UTC)"], rows, "None was used since the start."),
    make("h3", "By partner"),
    table(["partner", "proven by", "algorithm", "allowed", "#uses", "first (UTC)", "last (UTC)", "route", "direction"], partners, "No partner used one.")];
};

const show = state => {
  const now = { state, samples: read(state.metrics) };
  const inFlight = sum(matching(now.samples, "soapstone_requests_in_flight"));
  const memory = sum(matching(now.samples, "process_resident_memory_bytes"));
  const parts = [`version ${state.version}`, `${inFlight} requests in hand`, `${(memory / 1048576).toFixed(0)} MB`];
  if (state.draining) parts.push("draining");
  if (state.warming_up.length > 0) parts.push(`warming up: ${state.warming_up.join(", ")}`);
  document.getElementById("summary").textContent = parts.join(" · ");
  const open = new Set([...document.querySelectorAll("details[open]")].map(it => it.dataset.name));
  const focused = document.activeElement && document.activeElement.dataset.id;
  for (const [id, draw] of Object.entries({ routes, operations, refused, selection, agreements, steps, fill, certificates, weak }))
    document.getElementById(id).replaceChildren(...draw(now));
  if (focused) [...document.querySelectorAll("#refused button")].find(it => it.dataset.id === focused)?.focus();
  document.querySelectorAll("details").forEach((it, place) => {
    it.dataset.name = `${place} ${it.firstChild.textContent}`;
    it.open = open.has(it.dataset.name);
  });
  if (!before || state.now - before.state.now >= 10) before = now;
};

const events = new EventSource("/console/events");
events.onmessage = event => show(JSON.parse(event.data));
events.onerror = () => {
  // The browser asks again by itself when an answer ends.
  if (events.readyState === EventSource.CLOSED)
    document.getElementById("summary").textContent = "The gateway does not answer; load the page again.";
};
