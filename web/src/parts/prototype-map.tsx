/* All prototypes at a glance: neighbours say like things, and each lies where it leads the answer. */
import type { ListedPrototype } from "../desk";
import { leading, markPath, opposite, type Scale } from "../scale";
import { briefNames, captionOf, exactPercent, percent, shorten } from "../wording";

interface Props {
  items: ListedPrototype[];
  scale: Scale;
  suggested: ReadonlySet<number>;
  open: (id: number) => void;
}

export function PrototypeMap({ items, scale, suggested, open }: Props) {
  const most = Math.max(...items.map((each) => each.usage), 1e-9);
  const names = briefNames(items);
  const ordered = [...items].sort((a, b) => a.meaning - b.meaning);
  return (
    <figure class="panel map">
      <figcaption>
        <h2>All at a glance</h2>
        <p class="soft small">
          Neighbours say like things; a mark lies where the prototype leads the answer, and is the larger the more
          often it is used. {suggested.size > 0 && "Those with a dot have a suggestion. "}Choose one to open it.
        </p>
      </figcaption>
      <p class="map-axis" aria-hidden="true">
        <span>{scale.pole === null ? "0%" : `← ${shorten(opposite(scale), 18)}`}</span>
        <span>{scale.pole === null ? "50%" : "undecided"}</span>
        <span>{scale.pole === null ? "100%" : `${shorten(scale.pole, 18)} →`}</span>
      </p>
      <ol>
        {ordered.map((item) => {
          const says = leading(scale, item.scores);
          const share = scale.pole === null ? says.value : (item.scores[scale.pole] ?? 0);
          const name = names.get(item.id)!;
          return (
            <li key={item.id} class={`hue-${says.hue}`}>
              <button type="button" onClick={() => open(item.id)} aria-label={`Prototype ${item.id}, ${name}: “${says.label}” ${percent(says.value)}, used by ${exactPercent(item.usage)} of sentences${suggested.has(item.id) ? ", with a suggestion" : ""}`}>
                <span class="map-name">{suggested.has(item.id) && <span class="map-hint" />}{name} {name !== captionOf(item) && <span class="soft small">{captionOf(item)}</span>}</span>
                <span class="map-line">
                  <svg viewBox="-10 -10 20 20" style={{ left: `${100 * share}%` }}>
                    <path d={markPath(says.hue, 0, 0, 3 + 5 * Math.sqrt(item.usage / most))} />
                  </svg>
                </span>
              </button>
            </li>
          );
        })}
      </ol>
    </figure>
  );
}
