/* What the server sends: `protorynet explain --json` and its sisters. */

export type Distribution = Record<string, number>;

export interface Model {
  name: string;
  version: string;
  classes: string[];
  task: string;
  encoder: string;
  n_prototypes: number;
  /** Sentences that the prototypes are made of. */
  n_members: number;
  n_documents: number;
  validation_accuracy: number;
  has_automata: boolean;
  /** Similarities that a quarter and three quarters of the matches of held-out sentences stay below. */
  likeness?: number[];
  /** Whether the server was given a table of labelled texts. */
  has_data?: boolean;
}

export interface WordEffect {
  text: string;
  start: number;
  end: number;
  effect: number;
}

export interface Step {
  text: string;
  start: number;
  end: number;
  prototype: number;
  /** The sentence it is like: a member of the prototype. */
  prototype_sentence: string;
  member: number;
  /** What the prototype is called: its name, or its most typical sentence. */
  headline: string;
  unfamiliar: boolean;
  similarity: number;
  runner_up: number | null;
  runner_up_similarity: number | null;
  runner_up_sentence: string | null;
  scores: Distribution;
  running: Distribution;
  effect: number;
  words?: WordEffect[];
  prototype_words?: WordEffect[];
}

export interface Pattern {
  label?: string;
  prototypes: number[];
  sentences?: string[];
  support: number;
  purity: number;
}

export interface Explanation {
  label: string;
  probabilities: Distribution;
  sentences: Step[];
  automaton: {
    label: string;
    states: number[];
    accepts: boolean;
    agrees: boolean;
    fidelity: number;
  } | null;
  pattern: Pattern | null;
}

export interface Member {
  id: number;
  sentence: string;
  row: number | null;
  usage: number;
  /** In the order of the model's classes. */
  class_rate: number[];
}

export interface Prototype {
  id: number;
  sentence: string;
  row: number | null;
  usage: number;
  scores: Distribution;
  class_rate: Distribution;
  name: string | null;
  words: string[];
  /** Some of them: the most typical, or those that hold the words searched. */
  members: Member[];
  n_members: number;
  spread: number;
}

export interface Automaton {
  label: string;
  prototypes: number[];
  fidelity: number;
  n_held_out: number;
  n_train: number;
  fidelity_held_out: number | null;
  start: number;
  patterns: Pattern[];
  states: { number: number; belief: number; accepting: boolean; visits: number }[];
  transitions: number[][];
  traffic: number[][];
}

export interface Page<Item> {
  items: Item[];
  page: number;
  size: number;
  total: number;
}

export interface Job<Result = unknown> {
  id: string;
  kind: string;
  state: "queued" | "running" | "done" | "failed";
  progress: number;
  message: string;
  result: Result | null;
}
