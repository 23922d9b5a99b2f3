/* Every request to the server, its errors in plain words, and the key. */
import type { Job } from "./types";

const KEY = "protorynet-key";

/** Something went wrong that a person can read about. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

type KeyAsker = (wasWrong: boolean) => Promise<void>;
let askForKey: KeyAsker = async () => {};
let asking: Promise<void> | null = null;

/** Say who asks the person for a key when the server wants one. */
export function onKeyNeeded(asker: KeyAsker): void {
  askForKey = asker;
}

export function rememberKey(key: string): void {
  sessionStorage.setItem(KEY, key);
}

export function hasKey(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

export function forgetKey(): void {
  sessionStorage.removeItem(KEY);
}

export interface Options {
  method?: string;
  body?: unknown;
  form?: FormData;
  signal?: AbortSignal;
}

async function send(path: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = {};
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, {
      method: options.method ?? (options.body !== undefined || options.form ? "POST" : "GET"),
      headers,
      body: options.form ?? (options.body === undefined ? undefined : JSON.stringify(options.body)),
      signal: options.signal,
      credentials: "omit",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiFailure(0, "unreachable", "The server does not answer. Is it still running?");
  }
  if (response.status === 401) {
    // Several requests may be refused at once, but a person is asked once.
    if (sessionStorage.getItem(KEY) === key) {
      asking ??= askForKey(key !== null).finally(() => (asking = null));
      await asking;
    }
    return send(path, options);
  }
  if (!response.ok) throw await failureOf(response);
  return response;
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const fallback = `The server answered ${response.status}.`;
  try {
    const { error } = (await response.json()) as { error?: { code?: string; message?: string } };
    return new ApiFailure(response.status, error?.code ?? "", sentence(error?.message ?? fallback));
  } catch {
    return new ApiFailure(response.status, "", fallback);
  }
}

function sentence(message: string): string {
  return message.slice(0, 1).toUpperCase() + message.slice(1);
}

export async function ask<Answer>(path: string, options: Options = {}): Promise<Answer> {
  const response = await send(path, options);
  return response.status === 204 ? (undefined as Answer) : ((await response.json()) as Answer);
}

/** A file, fetched with the key, which a plain link could not carry. */
export async function fetchFile(path: string): Promise<Blob> {
  return (await send(path, {})).blob();
}

/** Watch a job until it ends; a failed one is thrown as what went wrong. */
export async function watch<Result>(
  id: string,
  tell: (job: Job<Result>) => void,
  signal: AbortSignal,
): Promise<Result> {
  for (let wait = 150; ; wait = Math.min(wait * 1.4, 1500)) {
    const job = await ask<Job<Result>>(`/v1/jobs/${encodeURIComponent(id)}`, { signal });
    tell(job);
    if (job.state === "done") return job.result as Result;
    if (job.state === "failed") throw new ApiFailure(0, "job_failed", sentence(job.message));
    await pause(wait, signal);
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    });
  });
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function codeOf(error: unknown): string | null {
  return error instanceof ApiFailure ? error.code : null;
}

/** Path of one model's part of the interface. */
export function modelPath(name: string, ...rest: (string | number)[]): string {
  return ["/v1/models", name, ...rest].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");
}

/** A query string of what is given. */
export function query(values: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}` : "";
}

/** Ask for something that may have to be computed first, telling how far that is. */
export async function askPatiently<Answer>(
  path: string,
  tell: (job: Job) => void,
  signal: AbortSignal,
): Promise<Answer> {
  for (;;) {
    const response = await send(path, { signal });
    if (response.status !== 202) return (await response.json()) as Answer;
    const { job } = (await response.json()) as { job: Job };
    tell(job);
    await watch(job.id, tell, signal);
  }
}
