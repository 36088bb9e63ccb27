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

export async function upload(path, file) {
  return answer(await fetch(base + path, { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } }));
}

export const isAbort = (e) => e.name === "AbortError";
