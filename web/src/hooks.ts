/* Small pieces of state that several pages share. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { askPatiently, codeOf, isAborted, messageOf } from "./api";
import type { Job } from "./types";

export interface Asked<Answer> {
  data: Answer | null;
  error: string | null;
  /** The server's word for the error. */
  code: string | null;
  /** Work that must end before there is an answer. */
  job: Job | null;
  loading: boolean;
  reload: () => void;
}

/** Ask for a path whenever it changes; what was there stays until the new answer is. */
export function useAnswer<Answer>(path: string | null): Asked<Answer> {
  const [state, setState] = useState<Omit<Asked<Answer>, "reload">>({
    data: null, error: null, code: null, job: null, loading: path !== null,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (path === null) {
      setState({ data: null, error: null, code: null, job: null, loading: false });
      return;
    }
    const leaving = new AbortController();
    setState((before) => ({ ...before, error: null, loading: true }));
    askPatiently<Answer>(path, (job) => setState((before) => ({ ...before, job })), leaving.signal)
      .then((data) => setState({ data, error: null, code: null, job: null, loading: false }))
      .catch((error) => {
        if (!isAborted(error)) {
          setState({ data: null, error: messageOf(error), code: codeOf(error), job: null, loading: false });
        }
      });
    return () => leaving.abort();
  }, [path, turn]);
  return { ...state, reload: useCallback(() => setTurn((n) => n + 1), []) };
}

/** A value that follows another once that has rested. */
export function useRested<Value>(value: Value, milliseconds = 250): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return rested;
}

export function useMedia(condition: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(condition).matches);
  useEffect(() => {
    const list = matchMedia(condition);
    const update = () => setMatches(list.matches);
    update();
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [condition]);
  return matches;
}

/** The width of an element, as it changes. */
export function useWidth(initial: number): [(element: Element | null) => void, number] {
  const [width, setWidth] = useState(initial);
  const watcher = useRef<ResizeObserver | null>(null);
  const attach = useCallback((element: Element | null) => {
    watcher.current?.disconnect();
    if (!element) return;
    watcher.current = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.round(entry.contentRect.width));
    });
    watcher.current.observe(element);
  }, []);
  return [attach, width];
}

/** An action with its state: busy while it runs, and what went wrong. */
export function useAction(): {
  busy: boolean;
  error: string | null;
  act: (work: () => Promise<void>) => Promise<void>;
} {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const act = useCallback(async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (problem) {
      if (!isAborted(problem)) setError(messageOf(problem));
    } finally {
      setBusy(false);
    }
  }, []);
  return { busy, error, act };
}
