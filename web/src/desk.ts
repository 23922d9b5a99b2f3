/* What the workbench's own routes send. */
import type { Distribution, Explanation, Job, Member, Page, Prototype } from "./types";

export interface ListedPrototype extends Prototype {
  changed: string | null;
  /** Its least typical sentences. */
  far_off: string[];
  /** Its rank among all: neighbours say like things. */
  meaning: number;
}

export interface PrototypePage extends Page<ListedPrototype> {
  classes: string[];
  draft: boolean;
  stale_figures: boolean;
}

export interface MemberPage extends Page<Member> {
  id: number;
}

export interface Nearest {
  id: number;
  sentence: string;
  items: {
    text: string;
    similarity: number;
    rows: number[];
    n_documents: number;
    documents: { row: number; label: string; text: string }[];
    member: number;
    member_sentence: string;
  }[];
}

export interface Change {
  text: string;
}

export interface Draft {
  exists: boolean;
  revision: number;
  stale: boolean;
  can_undo: boolean;
  reader_is_behind: boolean;
  n_prototypes: number;
  n_members: number;
  edits: {
    number: number;
    when: string;
    changes: Change[];
    retraining: { accuracy_before: number; accuracy_after: number; n_documents: number; seconds: number } | null;
    undone: boolean;
  }[];
  job: Job | null;
}

export interface Edits {
  drop?: number[];
  merge?: [number, number][];
  replace?: Record<string, string>;
  rename?: Record<string, string>;
  move?: Record<string, number>;
  split?: number[][];
  drop_members?: number[];
  add?: { prototype: number; sentence: string }[];
}

export interface Figures {
  accuracy: number;
  macro_f1: number;
  n_prototypes: number;
  n_members: number;
  classes: { name: string; n_true: number; precision: number | null; recall: number | null; f1: number | null }[];
}

export interface Comparison {
  split: string;
  n_documents: number;
  before: Figures;
  after: Figures;
  n_changed: number;
  n_fixed: number;
  n_broken: number;
  changed: { row: number; text: string; truth: string; before: string; after: string }[];
}

export interface Versions {
  current: number;
  items: { number: number; version: string; when: string | null; note: string; current: boolean; n_prototypes: number | null }[];
}

export interface DocumentView {
  row: number;
  text: string;
  label: string;
  split: string | null;
  explanation: Explanation | null;
}

export interface Mistake {
  row: number;
  split: string | null;
  text: string;
  truth: string;
  predicted: string;
  confidence: number;
  probabilities: Distribution;
  n_sentences: number;
  trajectory: number[];
  pattern: { key: string; label: string; prototypes: number[]; sentences: string[]; support: number; purity: number } | null;
  blamed: {
    position: number;
    text: string;
    start: number;
    end: number;
    prototype: number;
    prototype_sentence: string;
    headline: string;
    unfamiliar: boolean;
    similarity: number;
    effect: number;
  } | null;
  mark: { wrong_label: boolean; note: string; when: string } | null;
  explanation?: Explanation;
}

/** Texts that have something in common, and the filter that shows the mistakes among them. */
export interface Slice {
  kind: "length" | "class" | "prototype" | "word";
  name: string;
  holds: Record<string, string | number>;
  n_documents: number;
  n_wrong: number;
}

export interface MistakePage extends Page<Mistake> {
  n_documents: number;
  n_mistakes: number;
  version: string;
  note: string;
  confusion: number[][] | null;
  slices: Slice[];
  filters: {
    patterns: { key: string; label: string; prototypes: number[]; n: number }[];
    prototypes: { id: number; sentence: string; name: string | null; n: number }[];
    truths: string[];
    predicted: string[];
    splits: string[];
    longest: number;
  };
}

export interface Preview {
  upload: string;
  filename: string;
  n_rows: number;
  columns: { name: string; kind: "text" | "number" | "time" | "other"; examples: string[] }[];
  guess: { text: string; group: string | null; time: string | null };
}

export interface BatchView {
  id: string;
  state: Job["state"];
  progress: number;
  message: string;
  filename: string;
  text: string;
  group: string | null;
  time: string | null;
  n_rows: number;
  n_documents: number | null;
  n_skipped: number | null;
  version: string;
  created: string;
}

export interface BatchRow {
  text: string;
  label: string;
  probability: number;
  trajectory: string;
}

export interface Overview {
  by: "all" | "group" | "time";
  column: string | null;
  bucket: string | null;
  keys: string[];
  n_documents: number;
  n_sentences: number;
  /** Sentences unlike anything in the training texts; null where the model cannot tell. */
  n_unfamiliar: number | null;
  documents: number[];
  sentences: number[];
  unfamiliar: number[];
  labels: { label: string; n: number; counts: number[] }[];
  prototypes: {
    id: number;
    sentence: string;
    name: string | null;
    words: string[];
    scores: Distribution;
    n_documents: number;
    n_sentences: number;
    counts: number[];
    top: { row: number; sentence: string; similarity: number; member_sentence: string; label: string; text: string }[];
  }[];
}

/** What a finding speaks of: a row, rows of either split, or a prototype. */
export interface Evidence {
  text: string;
  row?: number;
  train_rows?: number[];
  test_rows?: number[];
  prototype?: number;
  label?: string;
  predicted?: string;
  probability?: number;
  reason?: string;
  times?: number;
}

export interface Finding {
  title: string;
  severity: string;
  message: string;
  evidence: { examples?: Evidence[] };
}

export interface Trusted {
  split: string;
  /** What figures of these texts mean. */
  note: string;
  accuracy: number;
  accuracy_interval?: number[];
  majority_baseline?: number | null;
  bag_of_words_accuracy?: number | null;
  /** On texts held out in training. */
  bag_of_words_in_training?: number | null;
  calibration_error?: number | null;
  macro_f1: number;
  n_documents: number;
  n_prototypes: number;
  classes?: Figures["classes"];
  confusion?: number[][] | null;
  verdicts?: { claim: string; answer: "yes" | "mostly" | "no"; measure: string }[];
  warnings?: string[];
  measures: { name: string; value: number | null; meaning: string }[];
  audit: { n_train: number; n_test: number; findings: Finding[] } | null;
  audit_missing: string | null;
}
