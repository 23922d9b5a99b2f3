/* What is remembered while the tab is open, so that pages share the text that was typed. */

let text = "";
let answer = "";

export function rememberText(typed: string): void {
  text = typed;
}

export function rememberedText(): string {
  return text;
}

export function rememberAnswer(label: string): void {
  answer = label;
}

export function rememberedAnswer(): string {
  return answer;
}
