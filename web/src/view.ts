/* Panning and zooming: a view box that is moved and scaled within reason. */

export interface View {
  x: number;
  y: number;
  width: number;
  height: number;
}

const CLOSEST = 5;

/** Zoom around a point given as shares of the view. */
export function zoomed(view: View, whole: View, factor: number, atX = 0.5, atY = 0.5): View {
  const width = Math.min(Math.max(view.width / factor, whole.width / CLOSEST), whole.width);
  const height = (width * whole.height) / whole.width;
  return kept(
    { x: view.x + (view.width - width) * atX, y: view.y + (view.height - height) * atY, width, height },
    whole,
  );
}

export function moved(view: View, whole: View, dx: number, dy: number): View {
  return kept({ ...view, x: view.x + dx, y: view.y + dy }, whole);
}

/** The view never leaves the picture. */
function kept(view: View, whole: View): View {
  return {
    ...view,
    x: Math.min(Math.max(view.x, whole.x), whole.x + whole.width - view.width),
    y: Math.min(Math.max(view.y, whole.y), whole.y + whole.height - view.height),
  };
}
