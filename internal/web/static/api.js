// SPDX-License-Identifier: Apache-2.0
// The server's API. A request cancels an earlier one of the same kind.

const base = "api/v1";
const running = new Map();

async function answer(response) {
  const out = await response.json();
  if (!response.ok) throw new Error(out.error);
  return out;
}

export async function get(path) {
  return answer(await fetch(base + path));
}

export async function ask(path, question) {
  running.get(path)?.abort();
  const abort = new AbortController();
  running.set(path, abort);
  return answer(await fetch(base + path, { method: "POST", body: JSON.stringify(question), signal: abort.signal, headers: { "Content-Type": "application/json" } }));
}

// cancel stops the requests of these kinds.
export function cancel(...paths) {
  for (const path of paths) running.get(path)?.abort();
}

export async function upload(path, file) {
  return answer(await fetch(base + path, { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } }));
}

// listen follows a stream of events. handlers has one function for each kind of event. lost is called when the connection
// breaks, after which the browser reconnects. listen returns a function that closes the stream.
export function listen(path, handlers, lost) {
  const source = new EventSource(base + path);
  for (const [name, handle] of Object.entries(handlers)) source.addEventListener(name, (e) => handle(JSON.parse(e.data)));
  for (const end of ["done", "problem"]) source.addEventListener(end, () => source.close());
  source.onerror = () => lost(source.readyState === EventSource.CLOSED);
  return () => source.close();
}

export const isAbort = (e) => e.name === "AbortError";
