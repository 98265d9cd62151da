// Requests to the server, and its stream of events. Each request carries the key of this browser's login, which
// is in the storage of this origin; the other half is a cookie that scripts cannot read.

const KEY = "perigee-key";

export class SignedOut extends Error {}

const headers = () => ({ "X-Perigee-Key": localStorage.getItem(KEY) ?? "" });

/** Exchanges the one-time token of the address for a login, and removes it from the address. */
export async function signIn() {
  const token = /^#([0-9a-f]{48})$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/api/login", { method: "POST", body: token });
  if (answer.ok) localStorage.setItem(KEY, (await answer.json()).key);
}

/** Sends a request of the control API. Throws an Error with the server's message. */
export async function ask(method, path, body) {
  const answer = await fetch("/api/" + path, {
    method,
    headers: body === undefined ? headers() : { ...headers(), "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(value.error?.message ?? `the server answers ${answer.status}`);
  return value;
}

function readEvents(text, on) {
  const parts = text.split("\n\n");
  const rest = parts.pop();
  for (const part of parts) {
    const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(part) ?? [];
    if (name) on(name, JSON.parse(data));
  }
  return rest;
}

/** Reads the stream for a view until `signal` ends it or the connection is lost. */
export async function stream(query, on, signal) {
  const answer = await fetch("/api/dashboard/stream?" + new URLSearchParams(query), { headers: headers(), signal });
  if (answer.status === 401) throw new SignedOut();
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text = readEvents(text + value, on);
  }
}
