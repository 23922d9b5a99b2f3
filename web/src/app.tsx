/* The frame: name, pages, model chooser, key, and the page that is open. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { forgetKey, hasKey, onKeyNeeded, rememberKey } from "./api";
import type { PageProps } from "./context";
import { useAnswer } from "./hooks";
import { lazy } from "./lazy";
import { Notice } from "./parts/common";
import { Read } from "./pages/read";
import { formatPlace, PAGES, parsePlace, type PageName, type Place } from "./routing";
import { scaleOf } from "./scale";
import type { Model } from "./types";

const TITLES: Record<PageName, string> = {
  read: "Read",
  prototypes: "Prototypes",
  patterns: "Patterns",
  mistakes: "Mistakes",
  batch: "Batch",
  trust: "Trust",
};
const OTHERS = {
  prototypes: lazy(() => import("./pages/prototypes").then((m) => m.Prototypes)),
  patterns: lazy(() => import("./pages/patterns").then((m) => m.Patterns)),
  mistakes: lazy(() => import("./pages/mistakes").then((m) => m.Mistakes)),
  batch: lazy(() => import("./pages/batch").then((m) => m.Batch)),
  trust: lazy(() => import("./pages/trust").then((m) => m.Trust)),
};

export function App() {
  const [place, setPlace] = useState<Place>(() => parsePlace(location.hash));
  const [said, announce] = useState("");
  const main = useRef<HTMLElement>(null);
  const asked = useAnswer<{ models: Model[] }>("/v1/models");
  const models = asked.data?.models ?? [];
  const model = models.find((each) => each.name === place.model) ?? (place.model ? null : models[0]);

  useEffect(() => {
    const follow = () => setPlace(parsePlace(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${TITLES[place.page]} · ProtoryNet workbench`;
    // Those who hear the page are led to the new one's heading, but not when it is the first.
    if (!isFirst.current) {
      scrollTo(0, 0);
      main.current?.querySelector("h1")?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [place.page]);
  const keep = useCallback(
    (state: Record<string, string>) => {
      const next = { ...parsePlace(location.hash), state };
      history.replaceState(null, "", formatPlace(next));
    },
    [],
  );
  const props: PageProps | null = model
    ? {
        model,
        scale: scaleOf(model.classes, model.task),
        place,
        keep,
        announce,
        refresh: asked.reload,
      }
    : null;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>
        Skip to the page
      </a>
      <Header place={place} model={model ?? null} models={models} />
      <main id="main" ref={main} tabIndex={-1}>
        {asked.error && <Notice>{asked.error}</Notice>}
        {asked.data && !model && (
          <Notice>
            {place.model ? `No model named “${place.model}” is served here.` : "No model is served here."}{" "}
            {models.length > 0 && <a href={formatPlace({ page: place.page, model: null, state: {} })}>Open “{models[0]!.name}” instead</a>}
          </Notice>
        )}
        {props && <Opened key={props.model.name} {...props} />}
      </main>
      <footer>
        <p>
          Everything here is computed by the server this page came from; nothing is sent anywhere else.
        </p>
      </footer>
      <div class="unseen" role="status" aria-live="polite">{said}</div>
      <KeyDialog />
    </>
  );
}

function Opened(props: PageProps) {
  if (props.place.page === "read") return <Read {...props} />;
  const Other = OTHERS[props.place.page];
  return <Other key={props.place.page} {...props} />;
}

function Header({ place, model, models }: { place: Place; model: Model | null; models: Model[] }) {
  const name = models.length > 1 || place.model ? (model?.name ?? place.model) : null;
  const choose = (chosen: string) => {
    location.hash = formatPlace({ page: place.page, model: chosen, state: {} });
  };
  return (
    <header class="top">
      <div class="top-inner">
        <a class="brand" href={formatPlace({ page: "read", model: name, state: {} })}>
          <svg viewBox="0 0 32 32" aria-hidden="true"><path d="M3 24 11 18 19 22 29 8" /></svg>
          <span>ProtoryNet</span>
        </a>
        <nav aria-label="Pages">
          {PAGES.map((page) => (
            <a
              key={page}
              href={formatPlace({ page, model: name, state: {} })}
              aria-current={page === place.page ? "page" : undefined}
            >
              {TITLES[page]}
            </a>
          ))}
        </nav>
        {models.length > 1 ? (
          <label class="chooser">
            <span>Model</span>
            <select value={model?.name} onChange={(event) => choose(event.currentTarget.value)}>
              {models.map((each) => <option key={each.name} value={each.name}>{each.name}</option>)}
            </select>
          </label>
        ) : (
          model && <p class="chooser"><span>Model</span> <b>{model.name}</b></p>
        )}
        {hasKey() && (
          <button type="button" class="plain" onClick={() => { forgetKey(); location.reload(); }}>Forget key</button>
        )}
      </div>
    </header>
  );
}

/** Asks for the API key when the server wants one; kept until the tab is closed. */
function KeyDialog() {
  const [request, setRequest] = useState<{ wasWrong: boolean; done: () => void } | null>(null);
  const [key, setKey] = useState("");
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    onKeyNeeded((wasWrong) => new Promise((done) => setRequest({ wasWrong, done })));
  }, []);
  useEffect(() => {
    if (request) element.current?.showModal();
  }, [request]);
  if (!request) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    rememberKey(key.trim());
    setKey("");
    setRequest(null);
    request.done();
  };
  return (
    <dialog ref={element} aria-labelledby="key-title" onCancel={(event) => event.preventDefault()}>
      <form class="dialog-body" onSubmit={submit}>
        <h2 id="key-title">This server asks for a key</h2>
        {request.wasWrong && <Notice>The key was not accepted. Check it and try again.</Notice>}
        <label class="field">
          <span>API key</span>
          <input
            type="password"
            required
            autoComplete="off"
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <p class="soft small">It is kept in this tab only, and forgotten when the tab is closed.</p>
        <button type="submit" class="primary">Use this key</button>
      </form>
    </dialog>
  );
}
