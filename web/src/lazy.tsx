/* Pages that are loaded when they are first opened, so that the first one paints at once. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PageProps } from "./context";
import { Notice } from "./parts/common";

export function lazy(load: () => Promise<ComponentType<PageProps>>): ComponentType<PageProps> {
  let loaded: ComponentType<PageProps> | null = null;
  return function Lazy(props: PageProps) {
    const [Page, setPage] = useState<ComponentType<PageProps> | null>(() => loaded);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (page) => {
          loaded = page;
          setPage(() => page);
        },
        () => setFailed(true),
      );
    }, []);
    if (failed) return <Notice>This page could not be loaded. Reload it, please.</Notice>;
    return Page ? <Page {...props} /> : <p class="soft quiet-wait" role="status">Opening…</p>;
  };
}
