/* A picture that one can move and enlarge with mouse, fingers and keys. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { moved, zoomed, type View } from "../view";

interface Props {
  width: number;
  height: number;
  label: string;
  /** Where something happens; it is kept in sight. */
  centre?: { x: number; y: number } | null;
  children: ComponentChildren;
}

export function PanZoom({ width, height, label, centre, children }: Props) {
  const whole: View = { x: 0, y: 0, width, height };
  const [view, setView] = useState<View>(whole);
  const svg = useRef<SVGSVGElement>(null);
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  useEffect(() => {
    // A phone shows a part large enough to be read, not the whole as a stamp.
    const room = svg.current?.clientWidth ?? width;
    setView(room < width * 0.55 ? zoomed(whole, whole, (width * 0.75) / room, 0, 0.5) : whole);
  }, [width, height]);
  useEffect(() => {
    if (!centre) return;
    setView((now) => {
      const isSeen = Math.abs(centre.x - now.x - now.width / 2) < now.width * 0.38;
      return isSeen ? now : moved(now, whole, centre.x - now.x - now.width / 2, 0);
    });
  }, [centre?.x, width]);
  useEffect(() => {
    const element = svg.current!;
    const wheel = (event: WheelEvent) => {
      // Plain turning of the wheel scrolls the page, as everywhere.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const factor = Math.exp(-event.deltaY / 300);
      setView((now) => zoomed(now, whole, factor, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [width, height]);

  const drag = (event: PointerEvent) => {
    const held = fingers.current;
    const before = held.get(event.pointerId);
    if (!before) return;
    const box = svg.current!.getBoundingClientRect();
    const others = [...held.entries()].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    setView((now) => {
      const scale = now.width / box.width;
      const other = others[0];
      if (!other) return moved(now, whole, (before.x - event.clientX) * scale, (before.y - event.clientY) * scale);
      const factor =
        Math.hypot(event.clientX - other.x, event.clientY - other.y) /
        Math.max(Math.hypot(before.x - other.x, before.y - other.y), 1);
      const middle = { x: (event.clientX + other.x) / 2, y: (event.clientY + other.y) / 2 };
      return zoomed(now, whole, factor, (middle.x - box.left) / box.width, (middle.y - box.top) / box.height);
    });
  };
  const press = (event: KeyboardEvent) => {
    const by = view.width / 8;
    const acts: Record<string, () => View> = {
      ArrowLeft: () => moved(view, whole, -by, 0),
      ArrowRight: () => moved(view, whole, by, 0),
      ArrowUp: () => moved(view, whole, 0, -by),
      ArrowDown: () => moved(view, whole, 0, by),
      "+": () => zoomed(view, whole, 1.3),
      "=": () => zoomed(view, whole, 1.3),
      "-": () => zoomed(view, whole, 1 / 1.3),
      "0": () => whole,
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setView(act());
  };
  return (
    <div class="pan-zoom">
      <svg
        ref={svg}
        viewBox={`${view.x} ${view.y} ${view.width} ${view.height}`}
        style={{ aspectRatio: `${width} / ${height}` }}
        role="img"
        aria-label={label}
        tabindex={0}
        onKeyDown={press}
        onPointerDown={(event) => {
          fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={drag}
        onPointerUp={(event) => fingers.current.delete(event.pointerId)}
        onPointerCancel={(event) => fingers.current.delete(event.pointerId)}
      >
        {children}
      </svg>
      <div class="pan-zoom-keys buttons">
        <button type="button" aria-label="Enlarge" onClick={() => setView(zoomed(view, whole, 1.4))}>+</button>
        <button type="button" aria-label="Make smaller" onClick={() => setView(zoomed(view, whole, 1 / 1.4))}>−</button>
        <button type="button" onClick={() => setView(whole)}>Whole</button>
      </div>
    </div>
  );
}
