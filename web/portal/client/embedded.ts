/**
 * Tells the site that shows the page in a frame how high it is: only a site of the clinic, once it has asked.
 *
 * @param origins - of the clinic's sites
 */
export function tellHeight(origins: readonly string[]): void {
  let site: string | undefined;
  const tell = (): void => {
    if (site !== undefined) {
      parent.postMessage({ portalHeight: document.body.getBoundingClientRect().height }, site);
    }
  };
  addEventListener('message', ({ origin, source, data }) => {
    if (data === 'portal-height' && source === parent && origins.includes(origin)) {
      site = origin;
      tell();
    }
  });
  new ResizeObserver(tell).observe(document.body);
}
