/* The pieces that every page is made of. */
import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Asked } from "../hooks";
import { clamp, hueOf, leading, markPath, type Scale } from "../scale";
import type { Distribution, Job } from "../types";
import { nameParts, percent, plural } from "../wording";

export function Mark({ hue, size = 12 }: { hue: number; size?: number }) {
  return (
    <svg class={`mark hue-${hue}`} width={size} height={size} viewBox="-7 -7 14 14" aria-hidden="true">
      <path d={markPath(hue, 0, 0, 4.6)} />
    </svg>
  );
}

/** A class by its name, in its hue and with its mark. */
export function ClassName({ scale, label, strong = false }: { scale: Scale; label: string; strong?: boolean }) {
  const hue = hueOf(scale, label);
  return (
    <span class={`class-name hue-${hue} ${strong ? "strong" : ""}`}>
      <Mark hue={hue} />
      <span><Name of={label} /></span>
    </span>
  );
}

/** A name that is cut between its parts where a line is too short for it. */
export function Name({ of }: { of: string }) {
  return <>{nameParts(of).map((part, i) => <Fragment key={i}>{i > 0 && <wbr />}{part}</Fragment>)}</>;
}

/** A distribution as one bar: from the middle on an axis, from the left with several classes. */
export function LeaningBar({ scale, distribution }: { scale: Scale; distribution: Distribution }) {
  const first = leading(scale, distribution);
  const isAxis = scale.pole !== null;
  const share = isAxis ? (distribution[scale.pole!] ?? 0) : first.value;
  const left = isAxis ? Math.min(share, 0.5) : 0;
  const width = isAxis ? Math.abs(share - 0.5) : share;
  return (
    <span class="leaning">
      <svg class={`bar hue-${first.hue}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="8" rx="2" />
        <rect class="fill" x={100 * left} width={Math.max(100 * width, 0.8)} height="8" rx="1.5" />
        {isAxis && <rect class="middle" x="49.6" width=".8" height="8" />}
      </svg>
      <span class="leaning-words">
        <ClassName scale={scale} label={first.label} /> <span class="number">{percent(first.value)}</span>
      </span>
    </span>
  );
}

/** A share of one as a bar from the left. */
export function Share({ value, class: name = "" }: { value: number; class?: string }) {
  return (
    <svg class={`bar ${name}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="8" rx="2" />
      <rect class="fill" width={Math.max(100 * clamp(value), 0.8)} height="8" rx="1.5" />
    </svg>
  );
}

/** A message of the server; what stands between backticks is to be typed. */
function Message({ message }: { message: string }) {
  return <>{message.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

export function Notice({ kind = "problem", children }: { kind?: "problem" | "warning" | "hint" | "good"; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === "problem" ? "alert" : "status"}>
      {typeof children === "string" ? <Message message={children} /> : children}
    </div>
  );
}

export function Progress({ job, label }: { job: Pick<Job, "progress" | "message" | "state"> | null; label: string }) {
  const share = job?.progress ?? 0;
  return (
    <div class="progress" role="status">
      <p>
        {job?.state === "queued" ? "Waiting for its turn…" : label}
        {job?.message ? <span class="soft"> {job.message}</span> : null}
      </p>
      <progress value={share} max={1} aria-label={label}>{percent(share)}</progress>
    </div>
  );
}

/** What stands in a page's place until it has an answer. */
export function Waiting<Answer>({
  asked, label, children,
}: {
  asked: Omit<Asked<Answer>, "reload" | "loading">;
  label: string;
  children: (data: Answer) => ComponentChildren;
}) {
  if (asked.error) {
    // A server without a table is no fault, only less.
    return <Notice kind={asked.code === "no_data" ? "hint" : "problem"}>{asked.error}</Notice>;
  }
  if (asked.job) return <Progress job={asked.job} label={label} />;
  if (asked.data === null) return <p class="soft quiet-wait" role="status">{label}</p>;
  return <>{children(asked.data)}</>;
}

export function Pager({
  page, size, total, of, go,
}: { page: number; size: number; total: number; of: string; go: (page: number) => void }) {
  const pages = Math.max(Math.ceil(total / size), 1);
  const first = total ? (page - 1) * size + 1 : 0;
  return (
    <nav class="pager" aria-label={`Pages of ${of}`}>
      <p class="soft" role="status">
        {total ? `${first.toLocaleString("en")}–${Math.min(page * size, total).toLocaleString("en")} of ` : ""}
        {plural(total, of.replace(/s$/, ""), of)}
      </p>
      {pages > 1 && (
        <div class="buttons">
          <button type="button" disabled={page <= 1} onClick={() => go(page - 1)}>Previous</button>
          <button type="button" disabled={page >= pages} onClick={() => go(page + 1)}>Next</button>
        </div>
      )}
    </nav>
  );
}

/** A window on top of the page, closed by Escape as people expect. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onClose={close}
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          <button type="button" class="plain" onClick={() => element.current?.close()}>Close</button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <header class="page-head">
      <h1 tabIndex={-1}>{title}</h1>
      {children && <p class="lead">{children}</p>}
    </header>
  );
}

/** Let the person keep a file. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
