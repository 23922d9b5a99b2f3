/* A confusion matrix: which answer for which label, each cell of mistakes a way to these. */
import { percent, shorten } from "../wording";

const MOST = 8; // of classes: a larger matrix is not read but searched

interface Props {
  counts: number[][];
  names: string[];
  href: (truth: string, predicted: string) => string;
  chosen?: { truth: string; predicted: string };
}

export function Confusion({ counts, names, href, chosen }: Props) {
  if (names.length > MOST) return <Worst {...{ counts, names, href }} />;
  return (
    <div class="scrolls" role="group" aria-label="Which answer for which label" tabIndex={0}>
      <table class="confusion">
        <caption>Rows: the label. Columns: the model’s answer.</caption>
        <thead>
          <tr><td />{names.map((name) => <th key={name} scope="col">{shorten(name, 14)}</th>)}</tr>
        </thead>
        <tbody>
          {names.map((truth, i) => {
            const total = Math.max(counts[i]!.reduce((sum, n) => sum + n, 0), 1);
            return (
              <tr key={truth}>
                <th scope="row">{shorten(truth, 22)}</th>
                {names.map((predicted, j) => {
                  const n = counts[i]![j]!;
                  const isChosen = chosen?.truth === truth && chosen.predicted === predicted;
                  return (
                    <td key={predicted} class={`${i === j ? "hue-0" : "hue-1"} ${isChosen ? "chosen" : ""}`} style={{ "--strength": `${Math.round(38 * (n / total) ** 0.6)}%` }}>
                      {i === j || !n ? n.toLocaleString("en") : (
                        <a href={href(truth, predicted)} aria-label={`${n} labelled ${truth}, answered ${predicted} (${percent(n / total)}): show them`}>{n.toLocaleString("en")}</a>
                      )}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Of very many classes, the confusions that occur most often. */
function Worst({ counts, names, href }: Props) {
  const pairs = counts.flatMap((row, i) => row.map((n, j) => ({ n, truth: names[i]!, predicted: names[j]!, isWrong: i !== j })));
  const worst = pairs.filter((each) => each.isWrong && each.n).sort((a, b) => b.n - a.n).slice(0, 10);
  return (
    <div>
      <p class="soft small">The most frequent confusions</p>
      <ul class="worst">
      {worst.map((each) => (
        <li key={`${each.truth} ${each.predicted}`}>
          <a href={href(each.truth, each.predicted)}>“{shorten(each.truth, 30)}” taken for “{shorten(each.predicted, 30)}”</a> <span class="number">{each.n}</span>
        </li>
      ))}
      </ul>
    </div>
  );
}
