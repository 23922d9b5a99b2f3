/* A reading shared by link, or kept as a page or a picture. */
import { useState } from "preact/hooks";
import { messageOf } from "../api";
import type { PageProps } from "../context";
import type { Shown } from "../editing";
import { formatPlace } from "../routing";
import { picturePng, pictureSvg, readingPage } from "../saving";
import { hasFamilies } from "../wording";
import { download, Notice } from "./common";

interface Props extends Pick<PageProps, "model" | "scale" | "announce"> {
  shown: Shown;
  decided: string | null;
}

export function KeepReading({ model, scale, shown, announce, decided }: Props) {
  const [link, setLink] = useState<string | null>(null);
  const [copied, setCopied] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const share = async () => {
    // What stands behind the # never leaves the browser, so the text reaches no log.
    const hash = formatPlace({ page: "read", model: model.name, state: { text: shown.text } });
    const address = location.href.split("#")[0] + hash;
    history.replaceState(null, "", hash);
    setLink(address);
    try {
      await navigator.clipboard.writeText(address);
      setCopied(true);
      announce("The link was copied.");
    } catch {
      setCopied(false);
    }
  };
  const saveHtml = () =>
    download(new Blob([readingPage(shown.explanation, scale, model.name, decided, hasFamilies(model))], { type: "text/html" }), `${model.name}-reading.html`);
  const savePng = async () => {
    try {
      const { svg, height } = pictureSvg(shown.explanation, scale);
      download(await picturePng(svg, 960, height), `${model.name}-reading.png`);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <div class="keep">
      <div class="buttons">
        <button type="button" onClick={() => void share()}>Copy link</button>
        <button type="button" onClick={saveHtml}>Save page</button>
        <button type="button" onClick={() => void savePng()}>Save picture</button>
      </div>
      {link && (
        <label class="link">
          <span class="small soft">{copied ? "Copied. The text is in the link itself:" : "Copy this link; the text is in it:"}</span>
          <input readOnly value={link} onFocus={(event) => event.currentTarget.select()} />
        </label>
      )}
      {problem && <Notice>{problem}</Notice>}
    </div>
  );
}
